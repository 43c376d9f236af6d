"""The sync manifest as text: what is written on the host and in the target, and read back from either.

Text from the target is untrusted. It is bounded, decoded against the types of ``model``, and every digest,
object id and path in it has the form of one before anybody sees it.

JSON in ASCII, because file names that are not UTF-8 are strings with lone surrogates, which JSON carries as
escapes and UTF-8 does not carry at all.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from datetime import datetime, timezone
from typing import Any, NoReturn

import msgspec

from overlaysync.model.manifest import MANIFEST_SCHEMA, Manifest
from overlaysync.model.worktree import Sha256

MAXIMUM_SIZE = 64 << 20
"""In characters; the agent's own limit for a record."""

MANIFEST_ID = re.compile(r"[0-9][0-9A-Za-z.-]{3,63}")
"""Safe as a file name wherever it comes from, and never the word ``latest``."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_COMPONENT = r"(?!\.{1,2}(?:/|\Z))[^/\0]+"
_RELATIVE_PATH = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")

FORMS: dict[str, re.Pattern[str]] = {
    "id": MANIFEST_ID,
    "previous": MANIFEST_ID,
    "sha256": _SHA256,
    "diff_sha256": _SHA256,
    "record_sha256": _SHA256,
    "previous_sha256": _SHA256,
    "original_sha256": _SHA256,
    "installed_sha256": _SHA256,
    "target_sha256": _SHA256,
    "before": _SHA256,
    "after": _SHA256,
    "head": _OBJECT_ID,
    "image_commit": _OBJECT_ID,
    "commit": _OBJECT_ID,
    "blob": _OBJECT_ID,
    "head_blob": _OBJECT_ID,
    "source": _RELATIVE_PATH,
    "destination": _RELATIVE_PATH,
    "not_packaged": _RELATIVE_PATH,
    "directories": _RELATIVE_PATH,
    "unshipped": _RELATIVE_PATH,
    "packages": re.compile(rf"\.|{_RELATIVE_PATH.pattern}"),
    "state": _OBJECT_ID,
    "merge_base": _OBJECT_ID,
}
"""The form of a field's string, or of each string of its list, by the field's name wherever it stands."""


class ManifestDamagedError(ValueError):
    """A text is no manifest that this version can read; the message is the reason."""


def encode(manifest: Manifest) -> str:
    """The text of a manifest: the same for equal manifests, ASCII, with a newline at its end."""
    text = _plain(manifest)
    if text is None:
        values = msgspec.to_builtins(manifest)
        text = json.dumps(values, indent=1, sort_keys=True, allow_nan=False)
    return f"{text}\n"


def _plain(manifest: Manifest) -> str | None:
    """The text where nothing of it has to be escaped, as of almost all: in a tenth of the time."""
    try:
        raw = msgspec.json.encode(manifest, order="sorted")
    except UnicodeEncodeError:
        return None
    return msgspec.json.format(raw, indent=1).decode("ascii") if raw.isascii() else None


def decode(text: str) -> Manifest:
    """The manifest of an untrusted text.

    Raises:
        ManifestDamagedError: too large, no JSON, of another schema, or a value has not the form of its field.
    """
    if len(text) > MAXIMUM_SIZE:
        raise ManifestDamagedError("it is larger than 64 MiB")
    try:
        document = json.loads(text, parse_constant=_not_finite, parse_float=_finite)
    except RecursionError as error:
        raise ManifestDamagedError("it is nested too deeply") from error
    except ValueError as error:
        raise ManifestDamagedError(f"it is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise ManifestDamagedError("it is no JSON object")
    _check_schema(document.get("schema"))
    try:
        manifest = msgspec.convert(document, Manifest)
    except (msgspec.ValidationError, UnicodeError) as error:  # the latter for a lone surrogate in an enum
        raise ManifestDamagedError(f"a value is not what it should be: {_printable(str(error))}") from error
    # Unknown fields are gone from here on; only what was taken over is checked.
    _check_forms(msgspec.to_builtins(manifest))
    return manifest


def digest(text: str) -> Sha256:
    """The digest of a manifest's text, as the next manifest's ``previous_sha256`` holds it."""
    return Sha256(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


def new_id(now: datetime, randomness: bytes) -> str:
    """An id that sorts by time: ``20261129T161500.250Z-3f9c2a``.

    Args:
        now: with a time zone. Milliseconds keep two pushes of one second in their order.
        randomness: at least three bytes, to tell apart two hosts at the same moment.
    """
    utc = now.astimezone(timezone.utc)
    return f"{utc:%Y%m%dT%H%M%S}.{utc.microsecond // 1000:03d}Z-{randomness[:3].hex()}"


def _check_schema(schema: Any) -> None:
    if schema == MANIFEST_SCHEMA:
        return
    name, _, version = schema.rpartition("/") if isinstance(schema, str) else ("", "", "")
    if name == MANIFEST_SCHEMA.rpartition("/")[0] and re.fullmatch(r"[1-9][0-9]{0,5}", version):
        raise ManifestDamagedError(f"it was written by a newer version of overlaysync (schema {schema})")
    raise ManifestDamagedError(f"its schema is not {MANIFEST_SCHEMA}")


def _check_forms(value: Any, name: str = "") -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _check_forms(item, key)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_forms(item, name)
    elif isinstance(value, str) and name in FORMS and not (_is_text(value) and FORMS[name].fullmatch(value)):
        raise ManifestDamagedError(f"{json.dumps(value[:80])} has not the form of {json.dumps(name)}")


def _is_text(value: str) -> bool:
    """Whether it can be a path: bytes that are no UTF-8 are lone surrogates of the lower half (PEP 383)."""
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _printable(text: str) -> str:
    """A reason that may quote the document, short and safe for a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text[:200])


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _not_finite(text)


def _not_finite(text: str) -> NoReturn:
    raise ManifestDamagedError(f"{text[:20]} is no number")
