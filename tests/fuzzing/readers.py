"""Everything that reads bytes of others, and the one error that each may end with."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from overlaysync.agent import frames
from overlaysync.agent.failure import Failure
from overlaysync.agent.record import read_record
from overlaysync.agent.tree import Tree
from overlaysync.config.loading import load
from overlaysync.core import prepush
from overlaysync.core.image_identity import resolve
from overlaysync.errors import ConfigError, UsageError
from overlaysync.model.target import TargetIdentity
from overlaysync.state import manifest_text
from overlaysync.state.manifest_text import ManifestDamagedError

CORPUS = Path(__file__).parent / "corpus"
"""``<reader>/<what it is>``: inputs that were trouble, or are near to it. One that is found goes here."""


def frame(content: bytes) -> None:
    """Of the agent: whole frames, or FrameError."""
    rest = memoryview(content)

    def receive(size: int) -> bytes:
        nonlocal rest
        piece, rest = bytes(rest[:size]), rest[size:]
        return piece

    with contextlib.suppress(frames.FrameError):
        while (found := frames.read(receive)) is not None:
            assert isinstance(found[0], dict)


def manifest(content: bytes) -> None:
    """A record in a target: a manifest that stays one, or the error that can be shown."""
    try:
        found = manifest_text.decode(content.decode("utf-8", "surrogateescape"))
    except ManifestDamagedError as error:
        assert str(error).isprintable()
    else:
        assert manifest_text.decode(manifest_text.encode(found)) == found


def configuration(content: bytes) -> None:
    """A file of the repository: a configuration that names no program of this host, or ConfigError."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "overlaysync.toml").write_bytes(content)
        try:
            found = load(Path(folder), None)
        except ConfigError as error:
            assert error.next_step
        else:
            assert not (found.target or "").startswith("local:")


def record(content: bytes) -> None:
    """RECORD of a distribution: what is said to be inside stays inside."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sample.dist-info").mkdir()
        Path(folder, "sample.dist-info", "RECORD").write_bytes(content)
        tree = Tree(folder.encode())
        try:
            files = read_record(tree, b"sample.dist-info").files
            inside = [
                f"{directory}/{name}" if directory else name
                for directory in files
                for name in files[directory]
            ]
            assert not [path for path in inside if path.startswith("/") or ".." in path.split("/")]
        except Failure as failure:
            assert failure.kind == "root"
        finally:
            tree.close()


def pre_push(content: bytes) -> None:
    """git's lines for the hook: every ref has a commit, or is a deletion; or UsageError."""
    try:
        refs = prepush.parse(content.decode("utf-8", "surrogateescape"))
    except UsageError as error:
        assert error.next_step
        return
    for ref in refs:
        assert ref.commit is None or ref.commit.strip("0")


def index(content: bytes) -> None:
    """An image index that the user hands over: believed by its digest alone, or UsageError."""
    identity = TargetIdentity(kind="docker", name="x", platform="linux/amd64")
    try:
        resolve(identity, content)
    except UsageError:
        return
    raise AssertionError("a document was believed that no engine told of")


READERS: Mapping[str, Callable[[bytes], None]] = {
    "configuration": configuration,
    "frame": frame,
    "index": index,
    "manifest": manifest,
    "pre-push": pre_push,
    "record": record,
}
