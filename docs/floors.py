"""The floors of the package, from the import contract and the packages' own docstrings, as a picture."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

import tomli

PROJECT = Path(__file__).parent.parent
WIDTH, HEIGHT, GAP, MARGIN = 920, 58, 10, 40
STYLE = "text{font:14px sans-serif;fill:#1f2328}.floor{font-weight:bold}.words{font-size:12px;fill:#57606a}"


def floors() -> list[list[tuple[str, str]]]:
    """The floors, the highest first; on each its packages with what their docstrings say."""
    text = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    layers: list[str] = tomli.loads(text)["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[(name, described(name)) for name in layer.replace(" ", "").split("|")] for layer in layers]


def described(module: str) -> str:
    """The first paragraph of a package's docstring, without its floor."""
    first = (importlib.import_module(module).__doc__ or "").strip().partition("\n\n")[0]
    return re.sub(r"^Floor \d: |``", "", " ".join(first.split()))


def picture() -> str:
    """All floors as SVG, one row of boxes for each."""
    rows = floors()
    shapes = [shape for index, packages in enumerate(rows) for shape in row(index, len(rows), packages)]
    total = GAP + len(rows) * (HEIGHT + GAP)
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" role="img">',
        "<title>The floors of overlaysync: nothing imports upward</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{total}" fill="#ffffff"/>',
    ]
    return "\n".join([*head, *shapes, "</svg>"]) + "\n"


def row(index: int, floor_count: int, packages: list[tuple[str, str]]) -> Iterator[str]:
    top = GAP + index * (HEIGHT + GAP)
    width = (WIDTH - MARGIN - GAP * (len(packages) + 1)) / len(packages)
    yield f'<text x="14" y="{top + 35}" class="floor">{floor_count - 1 - index}</text>'
    for place, (name, words) in enumerate(packages):
        left = MARGIN + GAP + place * (width + GAP)
        alone = len(packages) == 1  # there is no room for words beside others
        yield from box(left, top, width, name.rpartition(".")[2], words if alone else "")


def box(left: float, top: float, width: float, name: str, words: str) -> Iterator[str]:
    middle = f'x="{left + width / 2:.0f}" text-anchor="middle"'
    size = f'x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{HEIGHT}" rx="6"'
    yield f'<rect {size} fill="#ddf4ff" stroke="#54aeff"/>'
    yield f'<text {middle} y="{top + (25 if words else 35):.0f}">{escape(name)}</text>'
    if words:
        yield f'<text {middle} y="{top + 45:.0f}" class="words">{escape(words)}</text>'
