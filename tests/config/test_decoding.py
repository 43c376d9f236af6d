"""What may stand in a configuration, and what is said of the rest."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from overlaysync.cli.terminal import clean
from overlaysync.config.configuration import Document, PackageConfiguration
from overlaysync.config.decoding import Origin, decode
from overlaysync.config.files import parse
from overlaysync.config.keys import KEYS
from overlaysync.errors import ConfigError

OWN = Origin(Path("overlaysync.toml"))
PROJECT = Origin(Path("pyproject.toml"), "tool.overlaysync.")


def document(text: str, origin: Origin = OWN) -> Document:
    return decode(parse(text, origin.file), origin)


def package(line: str) -> PackageConfiguration:
    return document(f"[[package]]\n{line}\n").package[0]


def refusal(text: str, origin: Origin = OWN) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        document(text, origin)
    assert caught.value.next_step
    return caught.value


def test_an_unknown_key_names_file_key_and_what_is_allowed() -> None:
    error = refusal('[[package]]\nimage_comit = ["pep610"]\n', PROJECT)
    assert str(error).startswith(
        '"pyproject.toml": tool.overlaysync.package[0].image_comit: unknown key; allowed here: distribution, '
    )
    assert error.next_step is not None and "image-commit" in error.next_step


def test_keys_of_a_package_beside_the_target_are_sent_to_their_table() -> None:
    error = refusal('target = "a"\ndistribution = "vllm"\n')
    assert "distribution: unknown key; allowed here: target, package" in str(error)
    assert error.next_step == "move it into a [[package]] table"
    assert refusal('user = "a"', PROJECT).next_step == "move it into a [[tool.overlaysync.package]] table"


def test_a_key_like_no_other() -> None:
    assert refusal("zzz = 1").next_step == "remove the key"


def test_no_key_runs_anything_or_names_a_file_of_the_host() -> None:
    assert {"target", "pre-push", "watch", "quiet-ms", "bound-ms", "package", *PACKAGE_KEYS} == set(KEYS)
    for key in ("command", "hook", "script", "ssh", "agent", "python"):
        assert "unknown key" in str(refusal(f'[[package]]\n{key} = "touch it"\n'))


@pytest.mark.parametrize("origin", [OWN, PROJECT], ids=["own file", "pyproject"])
@pytest.mark.parametrize("target", ["local:tools", "local:/opt/venv", "local:"])
def test_no_file_names_this_machine_as_the_target(target: str, origin: Origin) -> None:
    error = refusal(f'target = "{target}"', origin)
    assert f"{origin.prefix}target: a local: target makes this machine run" in str(error)
    assert error.next_step == "name it on the command line: --container local:PREFIX"


@pytest.mark.parametrize("target", ["my-dev", "docker:my-dev", "local", "docker:local", "localhost"])
def test_other_targets_may_be_named(target: str) -> None:
    assert document(f'target = "{target}"').target == target


@pytest.mark.parametrize(
    "key", ["interpreter", "working-directory", "generated", "workload-ignore", "target"]
)
def test_what_a_terminal_must_not_be_shown_is_no_value(key: str) -> None:
    form = KEYS[key].value
    assert form is not None
    assert form.fullmatch("/a\u00e9\u200d\u4f60.py")
    letters = map(chr, range(sys.maxunicode + 1))
    harmful = [letter for letter in letters if clean(letter) != letter]
    assert {"\x1b", "\x9b", "\u202e", "\u2066"} <= set(harmful)
    assert [letter for letter in harmful if form.fullmatch(f"/a{letter}b")] == []


PACKAGE_KEYS = (
    "distribution",
    "image-commit",
    "interpreter",
    "user",
    "working-directory",
    "workload-ignore",
    "generated",
    "ships",
    "not-shipped",
    "not-built",
)


@pytest.mark.parametrize("key", PACKAGE_KEYS)
def test_every_example_is_taken(key: str) -> None:
    document(f"[[package]]\n{KEYS[key].example}\n")


@pytest.mark.parametrize("key", PACKAGE_KEYS)
@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("3", "an integer"),
        ("0.5", "a float"),
        ("true", "a boolean"),
        ("{}", "a table"),
        ("2024-01-02", "a date"),
        ("2024-01-02T03:04:05Z", "a datetime"),
        ("03:04:05", "a time"),
    ],
)
def test_a_wrong_type_is_named_beside_what_is_expected(key: str, value: str, got: str) -> None:
    error = refusal(f"[[package]]\n{key} = {value}\n", PROJECT)
    assert f"tool.overlaysync.package[0].{key}: got {got}; expected {KEYS[key].allowed}" in str(error)
    assert error.next_step == f"write for example: {KEYS[key].example}"


@pytest.mark.parametrize("key", ["image-commit", "generated", "not-built"])
def test_a_string_where_an_array_belongs(key: str) -> None:
    assert f"package[0].{key}: got a string" in str(refusal(f'[[package]]\n{key} = "pep610"\n'))
    assert f"package[0].{key}[1]: got an integer" in str(refusal(f'[[package]]\n{key} = ["pep610", 1]\n'))


@pytest.mark.parametrize("text", ['[package]\nuser = "root"\n', "package = [3]\n", 'package = "vllm"\n'])
def test_package_is_an_array_of_tables(text: str) -> None:
    error = refusal(text, PROJECT)
    assert "expected an array of tables" in str(error)
    assert error.next_step == "write for example: [[tool.overlaysync.package]]"


ALLOWED = {
    "distribution": ["vllm", "megatron-core", "Flask", "ruamel.yaml", "a"],
    "interpreter": ["/opt/venv/bin/python", "/opt/my env/python3.11"],
    "user": ["root", "1000", "1000:1000", "first.last", "_apt", "dev-user:dev_group"],
    "working-directory": ["/", "/workspace"],
    "image-commit": ["pep610", "label:my.label/commit", "file:/opt/commit", "env:VLLM_COMMIT"],
    "generated": ["pkg/_version.py", "/pkg/*.py", "pkg/**", "!pkg/kept.py", "café/*"],
    "workload-ignore": ["jupyter-lab*", "python3 -m http.server*"],
}

REFUSED = {
    "target": ["", "-oProxyCommand=x", "a\\nb"],
    "distribution": ["", "-e", "../vllm", "vllm[extra]", "vllm==1", "vllm-"],
    "interpreter": ["", "python3", "-c", "~/python", "/opt/a\\u0000b"],
    "user": ["", "-x", "root:-x", "root:", ":0", "a b", "a;b", "a:b:c", "root\\n"],
    "working-directory": ["", "workspace", "./a"],
    "image-commit": [
        "",
        "label:",
        "label:a b",
        "file:relative",
        "env:",
        "env:A-B",
        "PEP610",
        "git",
        "pep610\\n",
    ],
    "generated": ["", " ", "*", "**", "/**", "# comment", "!", "pkg\\\\", "a\\nb"],
    "workload-ignore": ["", "*", "?*", "***"],
    "ships": ["**"],
    "not-shipped": ["*"],
    "not-built": ["*", "*.*"],
}


def _written(key: str, value: str) -> str:
    if key == "target":
        return f'target = "{value}"\n'
    several = key in ("image-commit", "generated", "workload-ignore", "ships", "not-shipped", "not-built")
    return f'[[package]]\n{key} = ["{value}"]\n' if several else f'[[package]]\n{key} = "{value}"\n'


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in ALLOWED for value in ALLOWED[key]])
def test_allowed_values(key: str, value: str) -> None:
    assert document(_written(key, value)).package


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in REFUSED for value in REFUSED[key]])
def test_refused_values(key: str, value: str) -> None:
    error = refusal(_written(key, value))
    assert f"is not allowed; expected {KEYS[key].allowed}" in str(error)
    assert str(error).isprintable()


def test_an_empty_list_is_a_value_of_its_own() -> None:
    assert package("not-built = []").not_built == ()
    assert package("").not_built is None
    assert package("image-commit = []").image_commit == ()


def test_several_packages_each_have_a_name_of_their_own() -> None:
    two = '[[package]]\ndistribution = "vllm"\n[[package]]\n'
    assert len(document(two + 'distribution = "verl"\n').package) == 2
    assert "package[1].distribution: is missing" in str(refusal(two + 'user = "root"\n'))
    assert '"vllm" has two tables' in str(refusal(two + 'distribution = "VLLM"\n'))
