"""Where a configuration is found, and what it is without one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overlaysync.config.configuration import DEFAULT_EVIDENCE, PackageConfiguration
from overlaysync.config.loading import load, project_name
from overlaysync.errors import ConfigError

DOCUMENTED = """
[tool.overlaysync]
target = "docker:my-dev"

[[tool.overlaysync.package]]
distribution = "vllm"
image-commit = ["label:org.example.commit", "file:/opt/vllm.commit", "env:VLLM_COMMIT", "pep610"]
interpreter = "/opt/venv/bin/python"
user = "root"
workload-ignore = ["jupyter-lab*"]
generated = ["vllm/vllm_flash_attn/**"]
"""

VLLM = PackageConfiguration(
    distribution="vllm",
    image_commit=(
        "label:org.example.commit",
        "file:/opt/vllm.commit",
        "env:VLLM_COMMIT",
        "pep610",
    ),
    interpreter="/opt/venv/bin/python",
    user="root",
    workload_ignore=("jupyter-lab*",),
    generated=("vllm/vllm_flash_attn/**",),
)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refusal(root: Path, file: Path | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(root, file)
    assert caught.value.next_step
    assert caught.value.exit_code == 2
    return caught.value


def test_the_documented_table_of_pyproject(tmp_path: Path) -> None:
    file = write(tmp_path / "pyproject.toml", '[project]\nname = "other"\n' + DOCUMENTED)
    configuration = load(tmp_path, None)
    assert configuration.target == "docker:my-dev"
    assert configuration.packages == (VLLM,)
    assert configuration.file == str(file)
    assert not configuration.distribution_by_default


def test_the_same_keys_at_the_top_of_the_tools_own_file(tmp_path: Path) -> None:
    text = DOCUMENTED.replace("[tool.overlaysync]", "").replace("tool.overlaysync.", "")
    file = write(tmp_path / "overlaysync.toml", text)
    write(tmp_path / "pyproject.toml", '[project]\nname = "other"\n[tool.ruff]\n')
    configuration = load(tmp_path, None)
    assert (configuration.target, configuration.packages) == ("docker:my-dev", (VLLM,))
    assert configuration.file == str(file)


def test_both_places_are_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path / "overlaysync.toml", 'target = "a"')
    write(tmp_path / "pyproject.toml", '[tool.overlaysync]\ntarget = "a"\n')
    message = str(refusal(tmp_path))
    assert "overlaysync.toml" in message and "pyproject.toml" in message


def test_a_named_file_is_taken_instead_of_the_worktrees(tmp_path: Path) -> None:
    root = tmp_path / "worktree"
    root.mkdir()
    write(root / "overlaysync.toml", "broken")
    file = write(tmp_path / "mine.toml", 'target = "mine"\n[[package]]\ndistribution = "vllm"\n')
    assert load(root, file).target == "mine"


def test_a_named_pyproject_is_read_as_one(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    file = write(other / "pyproject.toml", DOCUMENTED)
    assert load(tmp_path, file).packages == (VLLM,)
    write(file, '[project]\nname = "vllm"\n')
    assert "[tool.overlaysync]" in str(refusal(tmp_path, file))


def test_a_named_file_has_to_exist(tmp_path: Path) -> None:
    assert "absent.toml" in str(refusal(tmp_path, tmp_path / "absent.toml"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[project]\nname = "Some.Project"\n'),
        ("pyproject.toml", '[tool.poetry]\nname = "Some.Project"\n'),
        ("setup.cfg", "[metadata]\nname = Some.Project\nversion = %(x\n"),
    ],
)
def test_without_configuration_the_repository_names_the_distribution(
    tmp_path: Path, name: str, text: str
) -> None:
    write(tmp_path / name, text)
    configuration = load(tmp_path, None)
    assert configuration.packages == (PackageConfiguration(distribution="Some.Project"),)
    assert configuration.packages[0].image_commit == DEFAULT_EVIDENCE
    assert (configuration.target, configuration.file) == (None, None)
    assert configuration.distribution_by_default


@pytest.mark.parametrize(
    "text", ["", "[metadata]\nname = attr: package.NAME\n", "[metadata]\nversion = 1\n", "no section", "[a"]
)
def test_nothing_names_the_distribution(tmp_path: Path, text: str) -> None:
    write(tmp_path / "setup.cfg", text)
    write(tmp_path / "pyproject.toml", "[project]\nname = 3\n")
    assert project_name(tmp_path) is None
    assert load(tmp_path, None).packages == (PackageConfiguration(),)


def test_a_single_package_without_a_name_takes_the_repositorys(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", '[project]\nname = "vllm"\n')
    write(tmp_path / "overlaysync.toml", '[[package]]\nuser = "root"\n')
    configuration = load(tmp_path, None)
    assert configuration.packages == (PackageConfiguration(distribution="vllm", user="root"),)
    assert configuration.distribution_by_default


def test_broken_toml_is_placed_by_line_and_column(tmp_path: Path) -> None:
    write(tmp_path / "overlaysync.toml", 'target = "a"\nuser = = 3\n')
    assert "line 2, column 8" in str(refusal(tmp_path))


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    write(tmp_path / "overlaysync.toml", b"# caf\xe9\n")
    assert "byte 5" in str(refusal(tmp_path))


@pytest.mark.parametrize("text", ["a = " + "[" * 50_000, "a = " + "9" * 10_000])
def test_text_that_overwhelms_a_parser(tmp_path: Path, text: str) -> None:
    write(tmp_path / "overlaysync.toml", text)
    refusal(tmp_path)


def test_a_file_above_the_limit(tmp_path: Path) -> None:
    filler = "#" * ((1 << 20) - 1)
    file = write(tmp_path / "overlaysync.toml", filler + "\n")
    load(tmp_path, None)
    write(file, filler + "#\n")
    assert "1 MiB" in str(refusal(tmp_path))


@pytest.mark.parametrize("name", ["overlaysync.toml", "pyproject.toml", "setup.cfg"])
def test_a_link_may_lead_elsewhere_in_the_worktree_but_not_out_of_it(tmp_path: Path, name: str) -> None:
    root = tmp_path / "worktree"
    (root / "settings").mkdir(parents=True)
    write(root / "settings" / "file", "")
    (root / name).symlink_to("settings/file")
    load(root, None)
    (root / name).unlink()
    (root / name).symlink_to(write(tmp_path / "outside", ""))
    assert "leaves the worktree" in str(refusal(root))


def test_a_worktree_that_is_itself_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "real" / "overlaysync.toml", 'target = "a"')
    assert load(tmp_path / "link", None).target == "a"


def test_what_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "overlaysync.toml"
    os.mkfifo(path)
    assert "no regular file" in str(refusal(tmp_path))
    path.unlink()
    path.mkdir()
    assert "no regular file" in str(refusal(tmp_path))
    path.rmdir()
    path.symlink_to(path.name)
    assert "cannot be read" in str(refusal(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file(tmp_path: Path) -> None:
    write(tmp_path / "overlaysync.toml", "").chmod(0)
    assert "cannot be read" in str(refusal(tmp_path))


def test_messages_stay_on_one_line(tmp_path: Path) -> None:
    write(tmp_path / "overlaysync.toml", '"\\u001b[31m\\n" = 3\n')
    message = str(refusal(tmp_path))
    assert message.isprintable()
    assert "\\u001b[31m\\n" in message


def test_a_file_is_named_whole_however_deep_it_lies(tmp_path: Path) -> None:
    root = tmp_path / ("deep" * 25)
    root.mkdir()
    write(root / "overlaysync.toml", "broken")
    assert str(root / "overlaysync.toml") in str(refusal(root))
