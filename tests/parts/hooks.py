"""Code that every start of a target's Python runs, as coverage tools and debuggers install it."""

from __future__ import annotations

from pathlib import Path

MODULE = "start_up_hook"


def hook_files(code: str) -> dict[str, str]:
    """What makes up the hook, by name in ``site-packages``.

    A ``.pth`` line and not ``sitecustomize.py``: Debian's Python has one of its own, which comes first.
    """
    return {f"{MODULE}.py": code + "\n", f"{MODULE}.pth": f"import {MODULE}\n"}


def install_hook(site_packages: Path, code: str) -> None:
    for name, text in hook_files(code).items():
        (site_packages / name).write_text(text)


def remove_hook(site_packages: Path) -> None:
    for name in hook_files(""):
        (site_packages / name).unlink()
