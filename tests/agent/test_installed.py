"""What an interpreter of the target takes from a RECORD."""

from __future__ import annotations

from pathlib import Path

import pytest

from overlaysync.agent.installed import record_text, top_level


@pytest.mark.parametrize(
    ("record", "names"),
    [
        ("pkg/__init__.py,sha256=x,1\n", {"pkg": True}),
        ("pkg/part.py,,\npkg/__init__.pyi,,\n", {"pkg": True}),
        ("space/pkg/__init__.py,,\n", {"space": False}),
        ("space/a.py,,\nspace/__init__.py,,\n", {"space": True}),
        ("module.py,,\nother.pth,,\n", {"module": True}),
        ("module.py\n", {"module": True}),
        ("module.py", {"module": True}),
        ('"module.py",,\n"pkg/a,b.py",,\n', {"module": True, "pkg": False}),
        ("__pycache__/module.cpython-311.pyc,,\n../../bin/run,,\n/etc/x.py,,\n", {}),
        ("pkg-1.0.dist-info/RECORD,,\nno-name/a.py,,\n1.py,,\n", {}),
        ("pkg/__init__.py,,\r\nmodule.py,,\r\n", {"pkg": True, "module": True}),
        ("", {}),
    ],
)
def test_the_names_that_it_can_be_imported_by(tmp_path: Path, record: str, names: dict[str, bool]) -> None:
    (tmp_path / "x.dist-info").mkdir()
    (tmp_path / "x.dist-info" / "RECORD").write_bytes(record.encode())
    record_text.cache_clear()
    assert top_level(str(tmp_path), "x.dist-info") == names
