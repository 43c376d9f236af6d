"""Kernels compiled at run time: what declares one, and what one reads from its module.

The caches of the compilers key on less than what a kernel depends on: helpers (triton-lang/triton#4051) and
module-level constants (triton-lang/triton#7322) were left out. So a change of what a kernel reads counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from types import CodeType

from overlaysync.core.definitions import Unit
from overlaysync.core.imported_names import (
    Names,
    Reading,
    dotted_name,
    dotted_names,
    dotted_set,
    matched,
    shown,
)

_COMPILERS = dotted_set(
    "triton.jit triton.autotune triton.heuristics triton.Config triton.constexpr_function",
    "gluon.jit gluon.constexpr_function torch.library.wrap_triton",
    "numba.jit numba.njit numba.cuda.jit numba.vectorize numba.guvectorize numba.stencil",
    "numba.cfunc jitclass",
    "torch.jit.script",
    "cute.jit cute.kernel cute.compile cute.struct",
    "tilelang.jit tilelang.autotune tilelang.compile prim_func",
    "warp.kernel warp.func warp.struct taichi.kernel taichi.func taichi.data_oriented helion.kernel",
    "cupy.RawKernel cupy.RawModule cupy.ElementwiseKernel cupy.ReductionKernel cupy.fuse cupyx.jit",
    "SourceModule nvrtc",
    "gen_jit_spec load_cuda_ops JitSpec build_and_load load_jit compile_and_tune",
)
_KERNEL_TEXT = ("__global__", "__device__", "__kernel ", "#include <cuda", "[[kernel]]")


_SETS = tuple(frozenset(dotted) for dotted in _COMPILERS)
HINTS = {dotted[0] for dotted in _COMPILERS}
"""A file without an identifier of these can name no compiler."""


def can_be_named(identifiers: AbstractSet[str]) -> bool:
    """Whether a file of these identifiers can name a compiler; most can not."""
    return any(known <= identifiers for known in _SETS)


def holds_text(code: CodeType) -> bool:
    """Whether compiled code has a text of a kernel: put together, whatever it was written in."""
    pending: list[object] = [code]
    while pending:
        item = pending.pop()
        if isinstance(item, CodeType):
            pending.extend(item.co_consts)
        elif isinstance(item, (tuple, frozenset)):
            pending.extend(item)
        elif isinstance(item, str) and any(mark in item for mark in _KERNEL_TEXT):
            return True
    return False


def evidence(reading: Reading) -> str | None:
    """What in a definition is compiled at run time; None if nothing is."""
    compiler = next((dotted for dotted, _ in reading.mentioned if matched(dotted, _COMPILERS)), None)
    if compiler:
        return shown(compiler)
    return "kernel source text" if _holds_kernel_text(reading.nodes) else None


def read_by_kernels(units: list[Unit], names: Names) -> dict[Unit, str]:
    """The units that a kernel of the module reads, directly or through others, with the kernel's name."""
    by_name = _by_name(units)
    reached: dict[Unit, str] = {}
    for kernel in _kernels(units, by_name, names):
        pending = [kernel]
        while pending:
            for read in _reads(pending.pop()):
                for other in by_name.get(read, ()):
                    if other not in reached and other is not kernel:
                        reached[other] = kernel.name
                        pending.append(other)
    return reached


def _kernels(units: list[Unit], by_name: dict[str, list[Unit]], names: Names) -> Iterator[Unit]:
    """Functions decorated by a compiler, or handed to one by a statement: ``fast = triton.jit(slow)``."""
    for unit in units:
        if unit.function is not None:
            if any(_compiles(decorator, names) for decorator in unit.function.decorator_list):
                yield unit
            continue
        for node in unit.nodes:
            if isinstance(node, ast.Call) and _compiles(node.func, names):
                arguments = [argument.id for argument in node.args if isinstance(argument, ast.Name)]
                handed = (other for name in arguments for other in by_name.get(name, ()))
                yield from (other for other in handed if other.function is not None)


def _compiles(node: ast.expr, names: Names) -> bool:
    """Whether a decorator or a called expression is a compiler, bare or with arguments of its own."""
    name = dotted_name(node.func if isinstance(node, ast.Call) else node)
    meanings = names.meanings(name) if name else ()
    return any(matched(meaning.dotted, _COMPILERS) for meaning in meanings)


def _by_name(units: list[Unit]) -> dict[str, list[Unit]]:
    """Units by the names they define; a name that is imported as well is the import's (``triton = None``)."""
    imported = {
        alias.asname or alias.name
        for unit in units
        for root in unit.roots
        if isinstance(root, (ast.Import, ast.ImportFrom))
        for alias in root.names
    }
    found: dict[str, list[Unit]] = {}
    for unit in units:
        for name in unit.name.split(", ") if unit.name else ():
            if name not in imported:
                found.setdefault(name, []).append(unit)
    return found


def _reads(unit: Unit) -> Iterator[str]:
    """Names of the module that the unit reads; ``self.x`` in a class is ``Class.x``."""
    local = {
        node.arg if isinstance(node, ast.arg) else node.id
        for node in unit.nodes
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }
    for name in dotted_names(unit.nodes):
        if name[0] == "self" and len(name) > 1 and unit.scope:
            yield f"{unit.scope}.{name[1]}"
        elif name[0] not in local:
            yield name[0]


def _holds_kernel_text(nodes: list[ast.AST]) -> bool:
    """A string of CUDA, OpenCL or Metal source that is not a docstring."""
    documentation = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = (node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return any(
        mark in str(text.value) for text in texts if id(text) not in documentation for mark in _KERNEL_TEXT
    )
