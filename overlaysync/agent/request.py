"""A request's fields, checked as they are read: whatever is missing or of another type is told by name."""

from __future__ import annotations

from overlaysync.agent.failure import Failure
from overlaysync.agent.frames import to_path

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from typing import Any, TypeVar

    Kind = TypeVar("Kind")


class Request:
    """One request of the host. Every method raises Failure("usage") for what is not as it should be."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.name = fields.get("do")
        self.id = fields.get("id")
        self._fields = fields

    def text(self, name: str) -> str:
        return self._value(name, str)

    def optional_text(self, name: str) -> str | None:
        return None if self._fields.get(name) is None else self.text(name)

    def path(self, name: str) -> bytes:
        return self._path(name, self.text(name))

    def optional_path(self, name: str) -> bytes | None:
        return None if self._fields.get(name) is None else self.path(name)

    def paths(self, name: str) -> list[bytes]:
        return [self._path(name, item) for item in self._value(name, list)]

    def flag(self, name: str) -> bool:
        return self._value(name, bool)

    def number(self, name: str) -> int:
        return self._value(name, int)

    def seconds(self, name: str) -> float:
        return self._value(name, float)

    def rows(self, name: str) -> list[Any]:
        return self._value(name, list)

    def part(self, name: str) -> Request:
        """Another request that is part of this one."""
        return Request({**self.mapping(name), "do": self.name})

    def asks_the_same(self, other: Request) -> bool:
        return self._asked() == other._asked()

    def _asked(self) -> dict[str, Any]:
        return {name: value for name, value in self._fields.items() if name not in ("do", "id")}

    def mapping(self, name: str) -> dict[str, Any]:
        return self._value(name, dict)

    def variables(self, name: str) -> dict[bytes, bytes]:
        """An environment."""
        pairs = self._value(name, dict).items()
        return {self._path(name, key): self._path(name, value) for key, value in pairs}

    def digests(self, name: str) -> dict[bytes, str | None]:
        """Paths with digests, or None."""
        return {self._path(name, path): digest for path, digest in self._value(name, dict).items()}

    def _value(self, name: str, kind: type[Kind]) -> Kind:
        value = self._fields.get(name)
        if not isinstance(value, kind):
            raise Failure("usage", "request %r: its field %r is %.100r" % (self.name, name, value))
        return value

    def _path(self, name: str, value: object) -> bytes:
        try:
            path = to_path(value)  # type: ignore[arg-type]
        except (AttributeError, UnicodeEncodeError):
            raise Failure("usage", "request %r: its field %r holds %.100r" % (self.name, name, value))
        if b"\0" in path:
            raise Failure("usage", "request %r: its field %r holds a NUL" % (self.name, name))
        return path
