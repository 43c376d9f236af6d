"""What each problem code means: all codes are listed here, and ``docs/problem-codes.md`` is made of it."""

from __future__ import annotations

from msgspec import Struct


class ProblemKind(Struct, frozen=True):
    """What a problem code means. ``acknowledge`` is the class that ``--acknowledge`` takes to lift it."""

    exit_code: int
    title: str
    explanation: str
    acknowledge: str | None = None


PROBLEM_KINDS: dict[str, ProblemKind] = {
    # 3: a change needs a rebuild, or is of a kind that cannot be overlaid
    "native-change": ProblemKind(
        3,
        "native source changed",
        "A compiled source or header differs from the image commit. What the image has compiled was made of "
        "the old one; only a rebuild brings the change into the target.",
    ),
    "build-change": ProblemKind(
        3,
        "build file changed",
        "A file that the build reads differs in something that the build uses (an extension, an entry point, "
        "package lists, build options).",
    ),
    "requirement-change": ProblemKind(
        3,
        "requirement changed",
        "A dependency or a companion's pin differs; the image holds what the old pin asked for.",
    ),
    "generator-input": ProblemKind(
        3,
        "generator input changed",
        "A file from which the build generates others (.proto, .pyx, .pyi.in, templates) differs.",
    ),
    "generated-change": ProblemKind(
        3, "generated file changed", "A file that a generator writes was edited without its input."
    ),
    "binding-change": ProblemKind(
        3,
        "foreign binding changed",
        "A changed definition declares or calls a compiled operator, which the image may not have compiled.",
        acknowledge="binding",
    ),
    "jit-change": ProblemKind(
        3,
        "JIT kernel changed",
        "A changed definition is compiled at run time; caches from before may be used in its place.",
        acknowledge="jit",
    ),
    "jit-input": ProblemKind(
        3,
        "JIT build input changed",
        "A header or source that is compiled at run time differs, inside the package.",
    ),
    "submodule-change": ProblemKind(
        3,
        "submodule changed",
        "A submodule's commit differs from HEAD's gitlink, or its files differ from its commit.",
    ),
    "link-change": ProblemKind(
        3,
        "link or type changed",
        "A symbolic link was added or changed, or a path became another type of file. Wheels hold no links.",
    ),
    "startup-hook": ProblemKind(
        3,
        "start-up hook changed",
        "A .pth file, sitecustomize or usercustomize runs at every interpreter start and is placed by the "
        "installer only.",
    ),
    "outside-package": ProblemKind(
        3,
        "installed outside the package",
        "The build installs this file outside the distribution's import packages (scripts, data files).",
    ),
    "compiled-twin": ProblemKind(
        3,
        "compiled twin beside the Python file",
        "An extension module of the same name is tried before the .py file, so the edit would never run.",
    ),
    "lfs-pointer": ProblemKind(
        3, "Git LFS path", "The blob is a pointer text and not the data; neither side can be compared."
    ),
    "git-filter": ProblemKind(
        3,
        "git filter on the path",
        "A filter, ident or working-tree-encoding attribute makes the checkout differ from the blob.",
    ),
    "case-collision": ProblemKind(
        3, "letter case only", "Two paths differ only in letter case; on some file systems they are one file."
    ),
    "unsafe-name": ProblemKind(
        3, "name cannot be installed", "The path has a component that no installer would write."
    ),
    "unproven-shipping": ProblemKind(
        3,
        "not proven whether it ships",
        "What ships at HEAD does not say whether a build would ship this new Python file.",
    ),
    "unstable-file": ProblemKind(
        3,
        "file changes while it is read",
        "The worktree file vanished or changed between two looks; nothing half-written is ever copied.",
    ),
    "unreadable-file": ProblemKind(3, "file cannot be read", "The worktree file cannot be opened."),
    "syntax-error": ProblemKind(
        3,
        "Python does not compile",
        "The changed file cannot be parsed; importing it would fail in the target. It can be acknowledged "
        "only where the target's Python is of another version than the one that runs overlaysync.",
        acknowledge="syntax",
    ),
    "many-removals": ProblemKind(
        3,
        "most of the package removed",
        "More than half of the installed files are missing in the worktree: an emptied or partial checkout.",
        acknowledge="removals",
    ),
    # 4: baseline not equal or not proven
    "no-image-commit": ProblemKind(
        4, "no image commit", "No evidence names the full commit that the image's package was built from."
    ),
    "evidence-conflict": ProblemKind(
        4, "evidence disagrees", "Two pieces of evidence name different commits."
    ),
    "unknown-commit": ProblemKind(
        4,
        "commit unknown here",
        "The image commit is not in this repository; no nearby commit is ever taken instead.",
    ),
    "head-differs": ProblemKind(
        4,
        "HEAD is not the image commit",
        "The difference to HEAD would be applied to files of another commit.",
    ),
    "port-conflict": ProblemKind(
        4,
        "does not go onto the image commit",
        "A path was changed both in the image's history and in the development's, in ways that do not go "
        "together. Nothing was carried.",
    ),
    "content-differs": ProblemKind(
        4,
        "installed content is not the image commit's",
        "An installed file differs from the commit's blob, and RECORD agrees with the installed file: it was "
        "built so. The image is not from this commit, or its build overwrites the file.",
    ),
    "content-unproven": ProblemKind(
        4,
        "nothing confirms the image commit",
        "No installed file could be compared with a blob of the commit.",
    ),
    # 5: the target's content
    "drift": ProblemKind(
        5,
        "drift",
        "A target file is neither the original nor what a manifest says was put there.",
        acknowledge="drift",
    ),
    "original-differs": ProblemKind(
        5, "original differs", "A file that would be replaced is not HEAD's file. It is left alone."
    ),
    "destination-exists": ProblemKind(
        5, "new file exists already", "A file that would be added exists in the target and is not ours."
    ),
    "destination-missing": ProblemKind(
        5,
        "file is missing in the target",
        "A file that the distribution's RECORD lists, and that would be replaced or removed, is not there.",
    ),
    "shadowed": ProblemKind(
        5, "shadowed", "The target's import system resolves the module to another file than the destination."
    ),
    "package-path": ProblemKind(
        5,
        "package changes where its modules are found",
        "The __init__ of a package above the module puts another directory before its own in its __path__, "
        "which only running it would show.",
        acknowledge="search-path",
    ),
    "duplicate-distribution": ProblemKind(
        5,
        "distribution installed more than once",
        "More than one dist-info of the name is on the search path; which one is meant is unknown.",
    ),
    "editable-install": ProblemKind(
        5,
        "editable or egg install",
        "The package is imported from a source tree that holds it under other names, or that is the worktree "
        "itself; or an editable install would need a reinstall, since it does not know a new top-level name.",
    ),
    "mount": ProblemKind(
        5, "mount in the way", "The destination, its package directory or the install root is a mount point."
    ),
    "link": ProblemKind(
        5,
        "link in the way",
        "The destination or a directory above it is a symbolic link, or no regular file.",
    ),
    "not-writable": ProblemKind(
        5,
        "not writable",
        "The writing user may not replace the file with its owner and mode kept, or the file system is "
        "read-only.",
    ),
    "not-importable": ProblemKind(
        5, "not importable", "The target's import system does not find the module."
    ),
    "ambiguous-mapping": ProblemKind(
        5,
        "destination not proven",
        "More than one installed path could come from this file, or none is proven.",
    ),
    "environment-changed": ProblemKind(
        5,
        "a requirement was installed anew",
        "A project that the distribution requires, or the distribution itself, is another build than at the "
        "last push, or came after the container was made: compiled parts may no longer fit together.",
        acknowledge="environment",
    ),
    "extension-invisible": ProblemKind(
        5,
        "extension of another interpreter",
        "A compiled module is there with suffixes that the target's interpreter does not look for, so that "
        "it says that there is no such module.",
        acknowledge="environment",
    ),
    "record-lost": ProblemKind(
        5,
        "the overlay's record is gone from the target",
        "This host recorded an overlay in this target, and the target has no record of it any more: what was "
        "put there may still stand, and its originals are lost.",
    ),
    "overlay-damaged": ProblemKind(
        5,
        "our record is damaged",
        "The manifest beside the overlay, or this host's copy of one where the pre-push hook reads it, "
        "cannot be read, or is from a newer version of this tool.",
    ),
    # 1: findings of verify
    "stale-process": ProblemKind(
        1,
        "process older than the overlay",
        "A process that could have the package loaded started before the last push; it runs the old code.",
    ),
    "other-container": ProblemKind(
        1,
        "another container than the one pushed to",
        "The name stands for a new container, or the overlay came with an image made from the old one.",
    ),
    # 1: findings of the pre-push hook
    "differs-from-run": ProblemKind(
        1,
        "pushed Python differs from what ran",
        "A file of the pushed commit is not what the overlay put into the target; another one may have.",
    ),
    "never-ran": ProblemKind(
        1,
        "pushed Python never ran",
        "A packaged Python file of the pushed commit differs from the image commit, and is in no overlay "
        "that is recorded of this repository.",
    ),
    "overlay-gone": ProblemKind(
        1,
        "the target has the overlay no more",
        "The target answers, and does not hold what was recorded: another overlay, another content, or none.",
    ),
    # 1: findings of doctor
    "missing": ProblemKind(
        1,
        "something is missing",
        "This machine, or the target, lacks what a push needs; the message says what.",
    ),
    # 6: workload
    "workload": ProblemKind(
        6,
        "workload running",
        "A process in the target could have the package loaded; it would go on with the old code.",
    ),
    "workload-unknown": ProblemKind(
        6,
        "workload unknown",
        "The target's processes cannot be listed, so nothing says that none has the package loaded.",
    ),
}
