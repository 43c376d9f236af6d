"""The failure cases: what people met, and what has to come of it here."""

from __future__ import annotations

from typing import NamedTuple


class Failure(NamedTuple):
    """What people met, and what is required: to handle it, to refuse with a reason, or to report it."""

    symptom: str
    required: str


GROUPS = {
    "E": "The edit has no effect",
    "N": "Missing extension, undefined symbol, ABI",
    "G": "Generated and packaged files",
    "C": "The container's identity",
    "W": "The git side",
    "D": "The container's side",
}

FAILURES = {
    "E01": Failure(
        "an edit of the same length and second is not seen: old bytecode is accepted",
        "handle: no bytecode remains that could be accepted for the old source",
    ),
    "E03": Failure(
        "the image was compiled with bytecode that is believed unchecked",
        "handle: it is dropped, and said so",
    ),
    "E04": Failure(
        "bytecode lies outside the tree (PYTHONPYCACHEPREFIX)",
        "handle: the target's interpreter tells where its caches are",
    ),
    "E06": Failure(
        "a removed module is imported from bytecode without a source",
        "handle: source and bytecode go, and the import is proven to fail; "
        "refuse where the image has bytecode only",
    ),
    "E07": Failure("a compiled twin is imported in place of the edited file", "refuse, for every suffix"),
    "E09": Failure(
        "a package in the user's own site overrides the image's", "refuse, and record the user site"
    ),
    "E10": Failure(
        "a virtual environment with system packages has a second copy",
        "list the copies; refuse the one that is not imported first",
    ),
    "E12": Failure(
        "an empty directory of the package's name is imported in place of an editable install",
        "refuse: no file behind a package is no import",
    ),
    "E13": Failure(
        "an editable install's finder does not know new top-level modules",
        "refuse new top-level names; handle modules below a mapped root",
    ),
    "E15": Failure(
        "two dist-info directories, so that the version is one and the code another",
        "refuse: the version is unknown, both are listed",
    ),
    "E16": Failure(
        "the files are right, and the running server is old",
        "refuse while a process could have the package loaded; report older processes afterwards",
    ),
    "E18": Failure(
        "a running process does not find a file that was added",
        "handle: proven by a fresh interpreter; who is to be restarted is said",
    ),
    "E19": Failure(
        "the package lies where no interpreter looks",
        "refuse: the install root is what the interpreter resolves, never a pattern of paths",
    ),
    "N01": Failure(
        "a source tree without compiled parts is imported, from the working directory",
        "refuse, and name the path entry that wins",
    ),
    "N02": Failure(
        "Python calls an operator that the old extension does not have",
        "refuse where native, binding or build files changed as well; say what the check cannot see",
    ),
    "N04": Failure(
        "undefined symbols after a library was replaced in place",
        "refuse where the extension or what it requires is not the image's any more",
    ),
    "N05": Failure("a mounted checkout hides the extensions", "refuse mounts from the package to the root"),
    "N09": Failure(
        "a file that is in use is overwritten in place",
        "refuse native files; write beside and rename, always",
    ),
    "N10": Failure(
        "a companion package is out of step",
        "refuse a changed pin; record companions by themselves",
    ),
    "N13": Failure(
        "an extension is there, and invisible to this interpreter", "report near misses by stem and suffix"
    ),
    "G01": Failure(
        "a generated version file is old, missing or not in git", "handle: it is left alone and said to be so"
    ),
    "G02": Failure(
        "the build overwrites a tracked file, so that image and HEAD differ",
        "refuse with three hashes; never repair it",
    ),
    "G04": Failure(
        "a generator's input changed, its output did not", "refuse both: inputs, and outputs without inputs"
    ),
    "G05": Failure(
        "the image lacks data files that git has",
        "report tracked files that are absent, told apart into not packaged and missing",
    ),
    "G07": Failure(
        "the repository's path is not the import path",
        "handle by hashes and RECORD; refuse what is ambiguous",
    ),
    "G08": Failure("a tracked package is not in the wheel", "never create it; say that it is not packaged"),
    "G10": Failure("a start-up hook never arrives", "refuse it, and record those that are active"),
    "G11": Failure(
        "a link in git is a plain copy in the image",
        "refuse links; name every installed copy of an edited file",
    ),
    "G13": Failure(
        "pip sees no overlay, and leaves files of it behind",
        "handle: RECORD stays as it is and is a second witness; revert removes what was added",
    ),
    "C01": Failure(
        "the tag names another image than the container runs", "handle: the image id is the container's own"
    ),
    "C02": Failure("version tag, git tag and label disagree", "refuse versions and tags as a commit"),
    "C04": Failure(
        "nothing tells the commit of an image",
        "refuse without a given commit, and say how many files equal HEAD's",
    ),
    "C05": Failure("the labelled commit is not in the clone", "refuse; never take a nearby commit"),
    "C07": Failure("a short commit matches two objects or none", "refuse all but full ids"),
    "C08": Failure(
        "no digest, or one that is no registry's",
        "four separate fields: image id, config digest, repo digests, manifest digest; missing is unknown",
    ),
    "C10": Failure(
        "an index's digest is compared with a platform's",
        "handle: the index is resolved to the platform's manifest; both are recorded",
    ),
    "C12": Failure(
        "after export and import labels and history are gone",
        "refuse without a given commit; content decides",
    ),
    "C14": Failure(
        "docker diff is taken as a proof", "handle: hashes read inside decide, in volumes as well"
    ),
    "C15": Failure(
        "the container was made anew under the same name", "report another container; a restart is none"
    ),
    "W01": Failure(
        "index flags hide edits (skip-worktree, assume-unchanged)", "handle by bytes; list the flagged"
    ),
    "W02": Failure("a linked worktree is no repository in the container", "handle: git runs on the host"),
    "W04": Failure(
        "git refuses the checkout's owner, or compares nothing", "refuse; no configuration is edited"
    ),
    "W05": Failure(
        "line ends are converted at checkout",
        "handle: a conversion is no change; content travels as git keeps it",
    ),
    "W07": Failure("a Git LFS pointer is copied in place of the data", "refuse, on either side"),
    "W08": Failure("an ignore rule keeps a new module out", "report the file and the rule"),
    "W10": Failure("odd names are dropped or split", "handle bytes as they are, or refuse the name clearly"),
    "W11": Failure("a submodule is dirty or behind", "refuse; record gitlink and HEAD separately"),
    "W13": Failure("a sparse checkout reads as deletions", "handle: not checked out is never removed"),
    "W14": Failure("a file added with intent to add is missed", "handle as a new file"),
    "W16": Failure("a rename changes letter case only", "refuse"),
    "W17": Failure("a shallow clone does not have the commit", "refuse to guess, and say how to fetch it"),
    "W19": Failure(
        "only the mode changed, or it was lost", "handle: the target's mode stays; it is reported"
    ),
    "D02": Failure(
        "the copy belongs to the host's user, or cannot be read",
        "handle: owner and mode of the original, read back as the workload's user",
    ),
    "D03": Failure("the root file system is read-only", "refuse before anything is written"),
    "D05": Failure("in a paused container the copy works and no check can", "refuse"),
    "D06": Failure("no shell, no tools, no python on PATH", "handle: the interpreter is started by itself"),
    "D08": Failure("a hard link of the image parts from its other names", "report the other names"),
    "D09": Failure("site-packages is a link into a cache", "refuse what leaves the install root"),
    "D11": Failure("a mounted file shows old content and cannot be renamed over", "refuse"),
    "D12": Failure("the Python of exec is not the workload's", "refuse to guess; list all candidates"),
    "D14": Failure("the locale decodes paths as ASCII", "handle: paths are bytes"),
    "D15": Failure("the user may not write into site-packages", "refuse; permissions are never widened"),
    "D17": Failure("a correctly copied file may not be read", "report, with the kernel's reason"),
    "D18": Failure(
        "a file cannot be changed although mode and owner allow it", "refuse the whole set, naming the file"
    ),
}
"""By identifier; the first letter is the group's."""
