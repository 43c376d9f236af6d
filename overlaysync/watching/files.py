"""Events of the worktree's files, from the operating system where it tells them."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

from watchdog import events
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from overlaysync.watching.coverage import unwatched
from overlaysync.watching.mounts import SILENT, file_system_of

POLL_SECONDS = 1.0
LIMIT = "the system's limit of watches is reached (fs.inotify.max_user_watches, max_user_instances)"

CHANGES: list[type[FileSystemEvent]] = [
    events.DirCreatedEvent,
    events.DirDeletedEvent,
    events.DirModifiedEvent,
    events.DirMovedEvent,
    events.FileClosedEvent,
    events.FileCreatedEvent,
    events.FileDeletedEvent,
    events.FileModifiedEvent,
    events.FileMovedEvent,
]
"""What can change content. No other is asked for: a look of our own, or of git, opens every directory."""
GROWTH = {events.EVENT_TYPE_CREATED, events.EVENT_TYPE_MOVED}


class FileEvents:
    """Calls ``wake`` when something below a worktree may have changed. ``polling``: why it does so blindly.

    Where there are no events (too many watches, a network file system, or because it is wanted), it wakes in
    regular intervals.
    """

    def __init__(
        self, root: Path, git_directory: Path, wake: Callable[[], None], *, poll: bool = False
    ) -> None:
        self._root, self._wake = root, wake
        self._ended = threading.Event()
        self._observer: BaseObserver | None = None
        self._handler = _Handler(git_directory, wake)
        self.polling: str | None = None
        if reason := "it was asked for" if poll else _silent(root) or self._observe(git_directory):
            self._begin_polling(reason)

    def close(self) -> None:
        self._ended.set()
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()

    def falls_back(self) -> bool:
        """Whether polling has begun since the last question: new directories can exceed the limits too."""
        if self.polling is not None or not self._handler.grown:
            return False
        self._handler.grown = False
        if unwatched(self._root) is None or self._ended.wait(0.2) or unwatched(self._root) is None:
            return False  # the second look is for one that was just made
        self._begin_polling(LIMIT)
        return True

    def _observe(self, git_directory: Path) -> str | None:
        """Starts the events; why there are none, or None."""
        observer = Observer()
        try:
            observer.schedule(self._handler, str(self._root), recursive=True, event_filter=CHANGES)
            if not git_directory.is_relative_to(self._root):  # of a linked worktree
                observer.schedule(self._handler, str(git_directory), event_filter=CHANGES)
            observer.start()
        except OSError as error:
            return LIMIT if error.errno in (errno.ENOSPC, errno.EMFILE) else f"no events: {error.strerror}"
        self._observer = observer
        return LIMIT if unwatched(self._root) is not None else None

    def _begin_polling(self, reason: str) -> None:
        self.polling = reason
        threading.Thread(target=self._poll, daemon=True).start()

    def _poll(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            self._wake()


class _Handler(FileSystemEventHandler):
    """Wakes for all but bytecode and the inner life of git's directory. ``grown``: directories were made."""

    def __init__(self, git_directory: Path, wake: Callable[[], None]) -> None:
        self._git = os.fspath(git_directory)
        self._wake = wake
        self.grown = False

    def on_any_event(self, event: FileSystemEvent) -> None:
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        if any(map(self._tells, paths)):
            self.grown |= event.is_directory and event.event_type in GROWTH
            self._wake()

    def _tells(self, path: str) -> bool:
        if path == self._git or path.startswith(self._git + "/"):  # not .gitignore, which stands beside it
            # HEAD, index, index.lock, MERGE_HEAD and the like lie there directly; objects and logs do not
            return path.rpartition("/")[0] == self._git
        return not path.endswith((".pyc", "__pycache__"))


def _silent(root: Path) -> str | None:
    """Why the file system of a directory gives no events, or None where it does."""
    kind = file_system_of(root)
    if kind is not None and kind.startswith(SILENT):
        return f"the file system ({kind}) does not tell changes that are made elsewhere"
    return None
