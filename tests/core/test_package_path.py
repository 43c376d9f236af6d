"""Which ``__init__`` may put another directory before the package's own."""

from __future__ import annotations

import pytest

from overlaysync.core.package_path import may_come_first


@pytest.mark.parametrize(
    "source",
    [
        "__path__.insert(0, 'elsewhere')",
        "__path__[:0] = ['elsewhere']",
        "__path__[0] = 'elsewhere'",
        "__path__ = ['elsewhere'] + __path__",
        "__path__ = ['elsewhere', *__path__]",
        "__path__: list = ['elsewhere']",
        "__path__, x = ['elsewhere'], 1",
        "__path__ *= 0",
        "del __path__[0]",
        "__path__.reverse()",
        "__path__ = extend_path(other, __name__)",
        "if True:\n    def change():\n        __path__.sort()\n    change()",
        "globals()['__path__'] = ['elsewhere']",
        "import sys\nsys.modules[__name__].__path__.insert(0, 'elsewhere')",
        "import sys\nsys.modules[__name__].__path__ = ['elsewhere']",
        "__path__ = (",
        "import sys\nsetattr(sys.modules[__name__], '__path__', ['elsewhere'])",
    ],
)
def test_another_directory_may_come_first(source: str) -> None:
    assert may_come_first(source.encode())


@pytest.mark.parametrize(
    "source",
    [
        "",
        "from pkgutil import extend_path\n__path__ = extend_path(__path__, __name__)",
        "__path__ = __import__('pkgutil').extend_path(__path__, __name__)",
        "__path__: list[str] = list(__path__)",
        "__path__: list[str]",
        "__path__.append('elsewhere')",
        "__path__ += ['elsewhere']",
        "__path__ = __path__ + ['elsewhere']",
        "__path__ = [*__path__, 'elsewhere']",
        "import pkgutil\nnames = [m.name for m in pkgutil.iter_modules(__path__)]",
        "first = __path__[0]",
        "other.__path__ = []",
        "text = '__path__.insert(0, 1)'",
    ],
)
def test_its_own_directory_stays_the_first(source: str) -> None:
    assert not may_come_first(source.encode())
