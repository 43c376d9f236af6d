"""Which package a command is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from overlaysync.config.configuration import Configuration, PackageConfiguration
from overlaysync.config.loading import load
from overlaysync.config.selection import on_this_machine, select
from overlaysync.errors import UsageError


def configuration(root: Path, text: str, project: str = "") -> Configuration:
    (root / "pyproject.toml").write_text(project)
    (root / "overlaysync.toml").write_text(text)
    return load(root, None)


SEVERAL = """
[[package]]
distribution = "Flash.Attn"
user = "first"
[[package]]
distribution = "vllm"
user = "second"
"""


def test_the_only_package_needs_no_name(tmp_path: Path) -> None:
    assert select(configuration(tmp_path, '[[package]]\ndistribution = "a"'), None).distribution == "a"
    assert select(configuration(tmp_path, ""), None).distribution is None


def test_names_are_compared_normalised(tmp_path: Path) -> None:
    assert select(configuration(tmp_path, SEVERAL), "flash_attn").user == "first"
    assert select(configuration(tmp_path, SEVERAL), "VLLM").user == "second"


def test_several_and_none_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Flash\.Attn, vllm"):
        select(configuration(tmp_path, SEVERAL), None)


def test_a_name_that_is_not_configured(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"verl.*configured: Flash\.Attn, vllm"):
        select(configuration(tmp_path, SEVERAL), "verl")
    with pytest.raises(UsageError, match="configured: vllm"):
        select(configuration(tmp_path, '[[package]]\ndistribution = "vllm"\n'), "verl")


def test_another_name_than_the_repositorys_may_be_given_where_none_is_configured(tmp_path: Path) -> None:
    project = '[project]\nname = "vllm"\n'
    package = select(configuration(tmp_path, '[[package]]\nuser = "root"\n', project), "vllm-nightly")
    assert (package.distribution, package.user) == ("vllm-nightly", "root")
    assert select(configuration(tmp_path, "", project), "verl").distribution == "verl"


@pytest.mark.parametrize("name", ["", "-e", "../vllm", "vllm==1"])
def test_what_is_no_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no name"):
        select(configuration(tmp_path, ""), name)


def test_on_this_machine_no_place_of_it_is_configured() -> None:
    evidence = ("label:a", "file:/home/dev/token", "env:TOKEN", "pep610")
    package = PackageConfiguration(
        "vllm", evidence, "./python", "root", "/work", workload_ignore=("jupyter*",), generated=("vllm/a/**",)
    )
    assert on_this_machine(package) == PackageConfiguration(
        "vllm", ("label:a", "pep610"), workload_ignore=("jupyter*",), generated=("vllm/a/**",)
    )
