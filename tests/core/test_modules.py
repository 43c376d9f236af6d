"""What a resolution must say to count as proof."""

from __future__ import annotations

import pytest

from overlaysync.core.modules import judge_absent
from overlaysync.model.target import Resolution

MODULE, PACKAGE = "/site/pkg/norm.py", "/site/pkg/norm/__init__.py"


@pytest.mark.parametrize(
    ("gone", "origin"),
    [(MODULE, None), (PACKAGE, None), (MODULE, PACKAGE), (PACKAGE, MODULE)],
    ids=["module", "package", "module becomes a package", "package becomes a module"],
)
def test_a_removed_module_may_live_on_in_its_other_form(gone: str, origin: str | None) -> None:
    assert judge_absent(Resolution(module="pkg.norm", origin=origin), gone, "pkg/norm.py") is None


@pytest.mark.parametrize(
    ("gone", "origin"),
    [
        (MODULE, MODULE),
        (MODULE, "/elsewhere/pkg/norm.py"),
        (MODULE, "/site/pkg/norm.so"),
        (PACKAGE, "/elsewhere/pkg/norm.py"),
    ],
)
def test_a_removed_module_is_found_nowhere_else(gone: str, origin: str) -> None:
    problem = judge_absent(Resolution(module="pkg.norm", origin=origin), gone, "pkg/norm.py")
    assert problem is not None
    assert problem.code == "shadowed"
    assert origin in problem.message
