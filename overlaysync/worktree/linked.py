"""A linked worktree of ours: at the image commit, carrying another state as an uncommitted difference.

Its files are written by git alone, which writes through no link and outside of no worktree. Programs that the
repository's configuration names for that (filters, merge drivers, hooks) are switched off.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from overlaysync.errors import BaselineError, UsageError
from overlaysync.model.worktree import ObjectId, Ported, RepoPath
from overlaysync.worktree import port_record
from overlaysync.worktree.git import Git, encode
from overlaysync.worktree.listing import records
from overlaysync.worktree.programs import without_programs

INDEX, CARRYING = "overlaysync-index", "overlaysync-carrying"
"""In git's own directory of the worktree; the latter while its files are written."""
GITLINK = "160000"
NAMED = 5


def merge(git: Git, image: ObjectId, state: ObjectId) -> tuple[ObjectId | None, tuple[RepoPath, ...]]:
    """The tree of a state laid onto the image commit, three-way from their merge base; or the conflicts.

    Nothing is written but objects, and no program of the repository runs, which git would start to merge or,
    with ``merge.renormalize``, to read. Raises BaselineError where git is too old, or there is no merge base.
    """
    answer = git.with_variables(without_programs(git)).run(
        "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", image, state, expected=(0, 1, 129)
    )
    if answer.status == 129:
        raise BaselineError("this git cannot merge without a worktree", "install git 2.38 or later")
    tree, *conflicts = records(answer.output)
    if answer.status == 0:
        return ObjectId(tree), ()
    return None, tuple(RepoPath(path) for path in dict.fromkeys(conflicts) if path)


def laid_onto(git: Git, image: ObjectId, commit: ObjectId) -> ObjectId | None:
    """The tree of a commit laid onto the image commit: what ``port`` would carry. None: it does not go there.

    A commit that comes after the image commit, or has no history in common with it, is taken as it is.
    """
    if common_base(git, image, commit) in (None, image):
        return ObjectId(git.run("rev-parse", f"{commit}^{{tree}}").text.strip())
    return merge(git, image, commit)[0]


def common_base(git: Git, image: ObjectId, commit: ObjectId) -> ObjectId | None:
    """Where the histories of two commits part, as far as the repository holds them; None: nowhere."""
    answer = git.run("merge-base", image, commit, expected=(0, 1))
    return ObjectId(answer.text.strip()) if answer.status == 0 else None


def apart(git: Git, directory: Path) -> Git:
    """The same, with the objects that it writes in a directory of their own."""
    objects = git.run("rev-parse", "--path-format=absolute", "--git-path", "objects").text.removesuffix("\n")
    escaped = objects.replace("\\", "\\\\").replace('"', '\\"')  # for a path with a colon
    return git.with_variables(
        {"GIT_OBJECT_DIRECTORY": str(directory), "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{escaped}"'}
    )


class LinkedWorktree:
    """The linked worktree at ``place``; made when it is first asked for."""

    def __init__(self, repository: Git, place: Path) -> None:
        self._repository, self.place = repository, place
        self._git = repository.at(str(place))

    def carry(self, tree: ObjectId, ported: Ported) -> None:
        """Makes its files those of ``tree``, and HEAD and index those of the image commit.

        Raises:
            UsageError: the place is not ours, or cannot be written.
            BaselineError: somebody worked in it, or an earlier run was interrupted; nothing is overwritten.
        """
        with self._explained():
            self._carry(tree, ported)

    def remove(self) -> None:
        """Takes it away with all that it holds, also where one that was killed left it half made."""
        shutil.rmtree(self.place, ignore_errors=True)
        # twice: git locks one for as long as it makes it
        self._repository.run("worktree", "remove", "--force", "--force", str(self.place), expected=(0, 128))

    def check(self, ported: Ported, scratch: Path) -> None:
        """Raises what ``carry`` would where the place is there, and changes nothing of it.

        ``scratch``: a directory for what git writes meanwhile.
        """
        if self.place.exists():
            with self._explained():
                private = self._existing()
                shutil.copyfile(private / INDEX, scratch / INDEX)
                self._last(private, self._carried(scratch / INDEX), ported)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageError(
                f"{str(self.place)!r} cannot be written: {error.strerror}", "name another place: --to DIR"
            ) from error

    def _carry(self, tree: ObjectId, ported: Ported) -> None:
        private = self._existing() if self.place.exists() else self._made(ported)
        carried, recorded = self._carried(private / INDEX), port_record.load(private)
        last = self._last(private, carried, ported)
        (private / CARRYING).unlink(missing_ok=True)  # it left nothing behind
        if last != tree or recorded != ported:
            (private / CARRYING).touch()
            carried.run("read-tree", "-m", "-u", last, tree)
            (private / CARRYING).unlink()
            self._git.run("update-ref", "--no-deref", "HEAD", ported.image_commit)
            self._git.run("read-tree", "--reset", ported.image_commit)
            self._mention(ported.image_commit, tree)
            port_record.save(private, ported)

    def _carried(self, index: Path) -> Git:
        """With the index of what was written here; the worktree's own knows the image commit's files."""
        return self._git.with_variables({"GIT_INDEX_FILE": str(index)})

    def _last(self, private: Path, carried: Git, ported: Ported) -> ObjectId:
        """The tree that it carries. Raises BaselineError where it holds anything else."""
        recorded = port_record.load(private)
        self._refuse_edits(carried, interrupted=(private / CARRYING).exists())
        self._refuse_commits({ported.image_commit, *([recorded.image_commit] if recorded else [])})
        answer = carried.run("write-tree", expected=(0, 128))
        if answer.status:
            raise BaselineError(
                f"git has forgotten what {str(self.place)!r} carries (git gc takes what no branch holds)",
                f"remove it, and port again: {self._removal}",
            )
        return ObjectId(answer.text.strip())

    def _made(self, ported: Ported) -> Path:
        """git's own directory of a new worktree at the image commit."""
        self.place.parent.mkdir(parents=True, exist_ok=True)
        # by force where our own is registered and gone; nobody else's worktree that is away is forgotten
        options = ("--force", "--detach", "--no-checkout")
        self._repository.run("worktree", "add", *options, str(self.place), ported.image_commit)
        self._silence()
        self._git.run("read-tree", "--reset", "-u", ported.image_commit)
        private = self._private()
        shutil.copyfile(private / "index", private / INDEX)
        port_record.save(private, ported)
        return private

    def _existing(self) -> Path:
        """git's own directory of the worktree that is there. Raises UsageError where it is not ours."""
        try:
            if port_record.load(private := self._private()) is not None:
                self._silence()
                return private
        except UsageError:
            pass
        raise UsageError(
            f"{str(self.place)!r} is there, and is no worktree that port made for this repository",
            f"name another place: --to DIR; where it is left of a port that was killed: {self._removal}",
        )

    @property
    def _removal(self) -> str:
        return f"git worktree remove --force --force {shlex.quote(str(self.place))}"

    def _silence(self) -> None:
        """Asked of git in the place itself: configuration may be for linked worktrees only (includeIf)."""
        self._git = self._git.with_variables(without_programs(self._git))

    def _private(self) -> Path:
        """Raises UsageError where the place is no worktree of the repository."""
        directory, common = self._git.run(
            "rev-parse", "--absolute-git-dir", "--git-common-dir"
        ).text.splitlines()
        ours = self._repository.run("rev-parse", "--path-format=absolute", "--git-common-dir").text.strip()
        if Path(self.place, common).resolve() != Path(ours).resolve():
            raise UsageError("it belongs to another repository")
        return Path(directory)

    def _refuse_edits(self, carried: Git, *, interrupted: bool) -> None:
        carried.run("update-index", "-q", "--refresh", expected=(0, 1))
        found = records(carried.run("diff-files", "--name-only", "-z").output)
        found += records(carried.run("ls-files", "--others", "--exclude-standard", "-z").output)
        if found:
            names = ", ".join(map(repr, found[:NAMED])) + (", …" if len(found) > NAMED else "")
            if interrupted:
                raise BaselineError(
                    f"an earlier port was interrupted while it wrote to {str(self.place)!r}: {names}",
                    f"where none of this is an edit of yours, remove it, and port again: {self._removal}",
                )
            raise BaselineError(
                f"files were changed in {str(self.place)!r}, which carries another worktree's state: {names}",
                f"move the edits to the development worktree, then remove this one: {self._removal}",
            )

    def _refuse_commits(self, known: set[ObjectId]) -> None:
        """A commit that was made here is on no branch, so nobody would find it again."""
        head = ObjectId(self._git.run("rev-parse", "HEAD").text.strip())
        if head not in known:
            raise BaselineError(
                f"{str(self.place)!r} is at another commit than port put it: {head}",
                f"bring it onto your own branch (git cherry-pick {head}), then remove this worktree: "
                f"{self._removal}",
            )

    def _mention(self, image: ObjectId, tree: ObjectId) -> None:
        """New paths become known to the index, so that no ignore rule hides them; and commits of submodules.

        No submodule is checked out here, so that nothing but the index tells that one was moved.
        """
        listed = records(self._git.run("diff-tree", "-r", "--no-renames", "--raw", "-z", image, tree).output)
        added, gitlinks = [], []
        for entry, path in zip(listed[::2], listed[1::2], strict=True):
            _, mode, _, commit, status = entry.split(" ")
            if mode == GITLINK:
                gitlinks.append(f"{mode} {commit}\t{path}\0")
            elif status == "A":
                added.append(f"{path}\0")
        if gitlinks:
            self._git.run("update-index", "-z", "--index-info", given=encode("".join(gitlinks)))
        if added:
            literal = self._git.with_variables({"GIT_LITERAL_PATHSPECS": "1"})
            given = ("--pathspec-from-file=-", "--pathspec-file-nul")
            literal.run("add", "--intent-to-add", "--force", *given, given=encode("".join(added)))
