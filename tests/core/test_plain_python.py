"""Most files can name nothing foreign, and are not taken apart: the judgement is the same as if they were."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from overlaysync.core import bindings, kernels, python_source
from overlaysync.core.imported_names import Dotted
from overlaysync.core.python_source import judge_python

FILES = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[::2]
KNOWN = sorted(bindings._DECLARATIONS | kernels._COMPILERS)


@pytest.mark.parametrize("dotted", KNOWN, ids=".".join)
def test_whatever_is_known_is_found_under_another_name_too(dotted: Dotted) -> None:
    *module, name = dotted
    imported = f"from {'.'.join(module)} import {name} as other" if module else f"import {name} as other"
    for text in (f"{imported}\n\nVALUE = other()\n", f"VALUE = package.{'.'.join(dotted)}(1)\n"):
        assert judge_python(b"", text.encode()).findings, text
        assert judge_python(text.encode(), b"").findings, text


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_real_files_are_judged_alike_either_way(file: Path) -> None:
    content = file.read_bytes()
    edited = content.replace(b"return", b"return  # edited\n  ", 1)
    more = content + b"\nX = 1\n"
    for before, after in ((None, content), (content, None), (content, more), (content, edited)):
        try:
            whole = python_source._judge_sides(before, after)
        except SyntaxError:
            continue
        assert judge_python(before, after) == whole


@pytest.mark.parametrize(
    "text",
    [
        "from \uff54orch import ops\nX = ops.mine.f()\n",
        "# -*- coding: utf-7 -*-\nimport +AHQ-riton\n@+AHQ-riton.jit\ndef f(): pass\n",
        "import importlib\nX = importlib.import_module('pkg.' '_C').f\n",
    ],
    ids=["normalised", "another coding", "a name in a string"],
)
def test_names_that_are_spelled_otherwise(text: str) -> None:
    assert python_source._may_be_foreign(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        'SOURCE = "__glo" "bal__ void k(){}"\n',
        'SOURCE = """\\\n__glo\\\nbal__ void k(){}"""\n',
        'SOURCE = "\\x5f_global__ void k(){}"\n',
        'def f(one):\n    return f"{one}#inc" "lude <cuda_fp16.h>"\n',
        'class A:\n    source = ("[[ker" "nel]] void k()",)\n',
    ],
)
def test_texts_of_kernels_that_are_put_together(text: str) -> None:
    assert [finding.code for finding in judge_python(b"", text.encode()).findings] == ["jit-change"]
    assert [finding.code for finding in judge_python(text.encode(), b"").findings] == ["jit-change"]
