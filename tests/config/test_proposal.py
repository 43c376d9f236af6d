"""The proposed configuration is read back as the values it was made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlaysync.config.configuration import PackageConfiguration
from overlaysync.config.decoding import Origin, decode
from overlaysync.config.files import parse
from overlaysync.config.loading import load
from overlaysync.config.proposal import proposal
from overlaysync.errors import ConfigError

FULL = PackageConfiguration(
    distribution="vllm",
    image_commit=("env:VLLM_COMMIT", "pep610"),
    interpreter="/opt/venv/bin/python",
    user="1000:1000",
    working_directory="/workspace",
    workload_ignore=("jupyter-lab*",),
    generated=('vllm/"quoted"\\ name/**', "café/**"),
    ships=("vllm/new/**",),
    not_shipped=("vllm/scratch/**",),
    not_built=(),
)


@pytest.mark.parametrize(
    "package",
    [PackageConfiguration(distribution="vllm"), FULL, PackageConfiguration("vllm", image_commit=())],
)
def test_round_trip(tmp_path: Path, package: PackageConfiguration) -> None:
    (tmp_path / "overlaysync.toml").write_text(proposal("docker:my-dev", package), encoding="utf-8")
    configuration = load(tmp_path, None)
    assert configuration.target == "docker:my-dev"
    assert configuration.packages == (package,)


def test_what_is_not_known_is_a_comment_that_holds_when_it_is_uncommented(tmp_path: Path) -> None:
    text = proposal("docker:my-dev", PackageConfiguration(distribution="vllm"))
    assert '# interpreter = "/opt/venv/bin/python"\n' in text
    uncommented = "\n".join(
        line.removeprefix("# ") if line.startswith("# ") and " = " in line else line
        for line in text.splitlines()
    )
    package = decode(parse(uncommented, Path("proposed")), Origin(Path("proposed"))).package[0]
    assert package.interpreter == "/opt/venv/bin/python"
    assert package.not_built == ("docs/**", "notebooks/**")


def test_what_may_be_overwritten_is_proposed_and_not_configured(tmp_path: Path) -> None:
    vllm = PackageConfiguration(distribution="vllm", generated=("vllm/parts/**",))
    file = tmp_path / "overlaysync.toml"
    text = proposal("my-dev", vllm, overwritten=["vllm/_version.py", "vllm/[ab].py"])
    file.write_text(text, encoding="utf-8")
    assert load(tmp_path, None).packages == (vllm,)
    assert "    # The build overwrites these? Then uncomment:\n" in text

    file.write_text(text.replace('    # "', '    "'), encoding="utf-8")
    (package,) = load(tmp_path, None).packages
    assert package.generated == ("vllm/parts/**", "/vllm/_version.py", "/vllm/\\[ab].py")


@pytest.mark.parametrize("generated", [(), ("vllm/parts/**",)])
def test_without_any_that_may_be_overwritten_nothing_is_proposed(generated: tuple[str, ...]) -> None:
    assert "uncomment" not in proposal("my-dev", PackageConfiguration("vllm", generated=generated))


def test_names_of_files_cannot_add_lines() -> None:
    name = 'vllm/caf\udce9\n"]\ntarget = "x".py'
    text = proposal("a", PackageConfiguration(distribution="vllm"), overwritten=[name])
    assert r'    # "/vllm/caf??\"]?target = \"x\".py",' in text.splitlines()


def test_this_machine_as_the_target_is_left_out(tmp_path: Path) -> None:
    text = proposal(None, PackageConfiguration(distribution="vllm"))
    (tmp_path / "overlaysync.toml").write_text(text, encoding="utf-8")
    assert '# target = "docker:my-dev"\n' in text
    assert load(tmp_path, None).target is None
    with pytest.raises(ConfigError, match="target: a local: target"):
        proposal("local:/opt/venv", PackageConfiguration(distribution="vllm"))


def test_the_target_cannot_add_lines() -> None:
    package = PackageConfiguration(distribution="vllm", interpreter='/python"\nuser = "root')
    with pytest.raises(ConfigError, match="interpreter"):
        proposal("a", package)


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_any_text_is_refused_or_round_trips(target: str, interpreter: str, ignore: list[str]) -> None:
    package = PackageConfiguration("vllm", interpreter=interpreter, workload_ignore=tuple(ignore))
    try:
        text = proposal(target, package)
    except ConfigError:
        return
    document = decode(parse(text, Path("proposed")), Origin(Path("proposed")))
    assert (document.target, document.package) == (target, (package,))
