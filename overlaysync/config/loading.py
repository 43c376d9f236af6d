"""Find the configuration of a worktree and load it.

``--config FILE``, else ``overlaysync.toml`` at the root of the worktree, else ``[tool.overlaysync]`` in its
``pyproject.toml``, else none: a package that the repository's own metadata names needs no configuration.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from overlaysync.config import files
from overlaysync.config.configuration import Configuration, Document, PackageConfiguration
from overlaysync.config.decoding import Origin, decode
from overlaysync.config.keys import KEYS, shown_path
from overlaysync.errors import ConfigError

OWN_FILE = "overlaysync.toml"
PROJECT_FILE = "pyproject.toml"


def load(root: Path, file: Path | None) -> Configuration:
    """The configuration for the worktree at ``root``.

    Args:
        file: what ``--config`` names; relative to the current directory.

    Raises:
        ConfigError: see ``files`` and ``decoding``; or both files of the worktree configure it, or ``file``
            is not there or configures nothing.
    """
    origin, document = _named(file) if file is not None else _found(root)
    packages = document.package or (PackageConfiguration(),)
    by_default = packages[0].distribution is None
    if by_default:
        packages = (structs.replace(packages[0], distribution=project_name(root)),)
    return Configuration(
        target=document.target,
        packages=packages,
        file=str(origin.file) if origin else None,
        distribution_by_default=by_default,
        watch=document.watch,
        pre_push=document.pre_push,
    )


def project_name(root: Path) -> str | None:
    """The distribution's name in the metadata of the repository: ``[project]``, Poetry's table, or setup.cfg.

    None where there is none that can be read without running a build. Raises ConfigError as ``files`` does.
    """
    path = root / PROJECT_FILE
    text = files.read(path, within=root)
    document = files.parse(text, path) if text is not None else {}
    names = [files.table(document, *keys).get("name") for keys in (("project",), ("tool", "poetry"))]
    text = files.read(root / "setup.cfg", within=root)
    if text is not None:
        import configparser

        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read_string(text)
            names.append(parser.get("metadata", "name", fallback=None))
        except configparser.Error:
            pass  # not ours to judge; it only names nothing
    form = KEYS["distribution"].value
    return next((name for name in names if isinstance(name, str) and form and form.fullmatch(name)), None)


def _named(file: Path) -> tuple[Origin, Document]:
    text = files.read(file, within=None)
    if text is None:
        raise ConfigError(f"{shown_path(file)} is not there", "name an existing file with --config FILE")
    found = _project_table(file, text) if file.name == PROJECT_FILE else _own_table(file, text)
    if found is None:
        raise ConfigError(
            f"{shown_path(file)} has no [tool.overlaysync] table", "add the table, or name another file"
        )
    return found


def _found(root: Path) -> tuple[Origin | None, Document]:
    own, project = root / OWN_FILE, root / PROJECT_FILE
    own_text, project_text = (files.read(path, within=root) for path in (own, project))
    in_project = _project_table(project, project_text) if project_text is not None else None
    if own_text is None:
        return in_project or (None, Document())
    if in_project:
        raise ConfigError(
            f"{shown_path(own)} and [tool.overlaysync] in {shown_path(project)} both configure it",
            "keep one of them; the keys are the same",
        )
    return _own_table(own, own_text)


def _own_table(file: Path, text: str) -> tuple[Origin, Document]:
    origin = Origin(file)
    return origin, decode(files.parse(text, file), origin)


def _project_table(file: Path, text: str) -> tuple[Origin, Document] | None:
    tool = files.table(files.parse(text, file), "tool")
    if "overlaysync" not in tool:
        return None
    if not isinstance(tool["overlaysync"], dict):
        raise Origin(file).error("tool.overlaysync", "expected a table", "write it as [tool.overlaysync]")
    origin = Origin(file, "tool.overlaysync.")
    return origin, decode(tool["overlaysync"], origin)
