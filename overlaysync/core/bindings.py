"""Foreign bindings in Python: operator schemas, calls of compiled operators, libraries loaded by hand.

Only what a definition says itself is seen. An operator that is registered elsewhere and reached through an
ordinary Python function looks like any other call; no look at the syntax can know better.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from overlaysync.core.imported_names import (
    Dotted,
    Reading,
    dotted_name,
    dotted_set,
    imported_as,
    matched,
    shown,
)
from overlaysync.core.vocabulary import words

_DECLARATIONS = dotted_set(
    "torch.library.Library torch.library.define torch.library.impl torch.library.impl_abstract",
    "torch.library.custom_op torch.library.triton_op torch.library.register_fake",
    "torch.library.register_kernel torch.library.register_autograd torch.library.register_vmap",
    "torch.library.register_torch_dispatch",
    "direct_register_custom_op register_custom_op register_fake_op",
    "torch.ops.load_library torch.classes.load_library",
    "cpp_extension.load cpp_extension.load_inline",
    "ctypes.CDLL ctypes.PyDLL ctypes.WinDLL ctypes.OleDLL ctypes.cdll ctypes.pydll ctypes.windll",
    "cffi.FFI cupy.cuda.function.Module",
    "importlib.machinery.ExtensionFileLoader imp.load_dynamic _imp.create_dynamic",
    "tvm_ffi.load_module tvm_ffi.cpp tvm_ffi.get_global_func tvm_ffi.register_global_func",
    "tvm_ffi.register_func tvm.ffi tvm.get_global_func tvm.register_func tvm.runtime.load_module",
    "jax.ffi jax.extend.ffi xla_client.register_custom_call_target",
)
"""What declares an operator or loads a library, wherever the name is re-exported from."""

_TORCH_NAMESPACES = words(
    "aten prims prim higher_order rngprims quantized mkldnn mkl onednn inductor profiler debugprims sparse",
    "c10d c10d_functional _c10d_functional symm_mem fsdp xnnpack",
)
"""Namespaces of ``torch.ops`` that torch itself fills."""

_OWN_COMPILED_PARTS = frozenset({"torch", "torchvision", "triton", "numpy", "scipy", "jax", "jaxlib"})
"""Roots whose compiled modules come and go with their Python, so that an import of both agrees."""

_COMPILED_MODULES = frozenset(
    {"transformer_engine_torch", "transformer_engine_extensions", "tensorrt_llm_bindings"}
)
_COMPILED_LOOK = re.compile(r"_C|_C_\w+|\w+_C|\w*_cuda|\w*_ext|\w*_cpp|_kernels|_native")
_PREDICATE = re.compile(r"_?(is|has|have|use|to|get|set|can|supports?|check|require|on|with|init|run|test)_")


_SETS = tuple(frozenset(dotted) for dotted in _DECLARATIONS)
HINTS = {dotted[0] for dotted in _DECLARATIONS} | _COMPILED_MODULES | {"import_module"}
PARTS = ("_C", "_cuda", "_ext", "_cpp", "_kernels", "_native")
"""A file without an identifier of HINTS, nor one that holds one of PARTS, can hold no evidence."""


def can_be_named(identifiers: AbstractSet[str]) -> bool:
    """Whether a file of these identifiers can hold any evidence at all; most can not."""
    torch = "torch" in identifiers and not identifiers.isdisjoint({"ops", "classes"})
    if torch or "import_module" in identifiers:
        return True
    return any(known <= identifiers for known in _SETS) or any(map(_looks_compiled, identifiers))


def evidence(reading: Reading) -> str | None:
    """What in a definition declares or calls a compiled operator; None if nothing does."""
    imported = next(filter(_has_compiled_part, _imports(reading.nodes)), None)
    if imported:
        return f"imports {shown(imported)}"
    for dotted, from_import in reading.mentioned:
        if matched(dotted, _DECLARATIONS) or _foreign_operator(dotted):
            return shown(dotted)
        if from_import and _has_compiled_part(dotted[:-1]):
            return shown(dotted)
    return _dynamic_access(reading)


def _imports(nodes: list[ast.AST]) -> Iterator[Dotted]:
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (imported_as(node, alias) for alias in node.names)


def _dynamic_access(reading: Reading) -> str | None:
    """``getattr(_C, name)``: an operator reached by a computed name."""
    for node in reading.nodes:
        if not (isinstance(node, ast.Call) and dotted_name(node.func) == ("getattr",) and node.args):
            continue
        name = dotted_name(node.args[0])
        for dotted, from_import in reading.names.meanings(name) if name else ():
            if from_import and _has_compiled_part(dotted):
                return f"getattr({shown(dotted)}, ...)"
    return None


def _foreign_operator(dotted: Dotted) -> bool:
    """``torch.ops.NAMESPACE`` or ``torch.classes.NAMESPACE`` that is not torch's own."""
    for start in range(len(dotted) - 2):
        if dotted[start] == "torch" and dotted[start + 1] in ("ops", "classes"):
            return dotted[start + 2] not in _TORCH_NAMESPACES
    return False


def _has_compiled_part(dotted: Dotted) -> bool:
    if dotted and dotted[0] in _OWN_COMPILED_PARTS:
        return False
    return any(_looks_compiled(part) for part in dotted)


def _looks_compiled(part: str) -> bool:
    if part in _COMPILED_MODULES:
        return True
    return bool(_COMPILED_LOOK.fullmatch(part)) and part != "cpp_ext" and not _PREDICATE.match(part)
