"""Real git repositories whose commit ids are the same on every run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (
        ("NAME", "Sample Author"),
        ("EMAIL", "author@example.org"),
        ("DATE", "2024-01-02T03:04:05+00:00"),
    )
}
CONFIGURATION = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


class Repository:
    """A git repository at ``path``; made there if there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / ".git").exists():
            path.mkdir(parents=True, exist_ok=True)
            self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        """What a git command printed, without the last newline.

        Raises:
            RuntimeError: git exited with another code than 0; the message holds its stderr.
        """
        return self.git_bytes(*arguments).decode(errors="surrogateescape").removesuffix("\n")

    def git_bytes(self, *arguments: str) -> bytes:
        """The same as the bytes that git printed."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=inherited | IDENTITY | CONFIGURATION,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            problem = done.stderr.decode(errors="replace").strip()
            raise RuntimeError(f"git {' '.join(arguments)} exited {done.returncode}: {problem}")
        return done.stdout

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file of the worktree, with its folders; the path written."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def commit(self, message: str = "Change") -> str:
        """Commit everything that is not ignored; the new commit's full id."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.head

    @property
    def head(self) -> str:
        """The full id of HEAD."""
        return self.git("rev-parse", "HEAD")
