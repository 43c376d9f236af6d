"""Python judged definition by definition."""

from __future__ import annotations

import pytest

from tests.core.changes import codes, judged, said

BINDINGS = {
    "an operator of another library is called": (
        "import torch\ndef f(x):\n    return torch.ops.vllm.norm(x)\n"
    ),
    "an operator under an alias": "import torch\nops = torch.ops.vllm\ndef f(x):\n    return ops.norm(x)\n",
    "an operator by a computed name": "import torch\ndef f(n):\n    return getattr(torch.ops.vllm, n)\n",
    "operators are imported": "from torch import ops\ndef f(x):\n    return ops.vllm.norm.default(x)\n",
    "a library is loaded by torch": "import torch\ntorch.ops.load_library('x.so')\n",
    "an operator is declared": (
        "import torch\n@torch.library.custom_op('a::b', mutates_args=())\ndef f(x): ...\n"
    ),
    "an operator is declared under an alias": (
        "from torch.library import custom_op as op\n@op('a::b')\ndef f(x): ...\n"
    ),
    "a fake is registered": "import torch\n@torch.library.register_fake('a::b')\ndef f(x): ...\n",
    "a schema is defined": (
        "from torch.library import Library\nlib = Library('a', 'FRAGMENT')\nlib.define('f() -> ()')\n"
    ),
    "an implementation": (
        "import torch\nlib = torch.library.Library('a', 'IMPL')\ndef f(g):\n    lib.impl('f', g)\n"
    ),
    "vllm's registration": (
        "from vllm.utils import direct_register_custom_op\ndirect_register_custom_op('f', 1)\n"
    ),
    "an extension is compiled": "from torch.utils.cpp_extension import load\nx = load('x', ['x.cpp'])\n",
    "inline": "import torch.utils.cpp_extension as e\ndef f():\n    return e.load_inline('x', '')\n",
    "ctypes": "import ctypes\nlib = ctypes.CDLL('x.so')\n",
    "ctypes by its loader": "from ctypes import cdll\ndef f():\n    return cdll.LoadLibrary('x.so')\n",
    "ctypes by a star": "from ctypes import *\nlib = CDLL('x.so')\n",
    "cffi": "from cffi import FFI\nffi = FFI()\nffi.cdef('int f();')\n",
    "tvm_ffi": "import tvm_ffi\nm = tvm_ffi.load_module('x.so')\n",
    "jax": "import jax\nf = jax.ffi.ffi_call('x', None)\n",
    "a compiled module is imported": "from . import _C\n",
    "a compiled module of another package": "import flash_attn_2_cuda as kernels\n",
    "a compiled module in a function": "def f(x):\n    from pkg._C import norm\n    return norm(x)\n",
    "a name of a compiled module": "from pkg import _moe_C\ndef f(x):\n    return _moe_C.top_k(x)\n",
    "a compiled module by its whole name": "import pkg._C\ndef f(x):\n    return pkg._C.norm(x)\n",
    "a compiled module by importlib": (
        "import importlib as i\n_m = i.import_module('pkg._C')\ndef f():\n    _m.g()\n"
    ),
    "after a guarded import": (
        "try:\n    from pkg import _C\nexcept ImportError:\n    _C = None\ndef f():\n    _C.g()\n"
    ),
}
"""Source whose last definition is a binding; it is what is changed."""

KERNELS = {
    "triton": "import triton\n@triton.jit\ndef k(x): ...\n",
    "triton under an alias": "import triton as t\n@t.jit\ndef k(x): ...\n",
    "jit by name": "from triton import jit\n@jit\ndef k(x): ...\n",
    "triton re-exported": "from vllm.triton_utils import tl, triton\n@triton.jit\ndef k(x): ...\n",
    "autotune": "import triton\n@triton.autotune(configs=[], key=[])\n@triton.jit\ndef k(x): ...\n",
    "configurations": "import triton\ndef configs():\n    return [triton.Config({}, num_warps=4)]\n",
    "gluon": "from triton.experimental import gluon\n@gluon.jit\ndef k(x): ...\n",
    "numba": "from numba import njit\n@njit(cache=True)\ndef k(x): ...\n",
    "numba for CUDA": "from numba import cuda\n@cuda.jit\ndef k(x): ...\n",
    "torchscript": "import torch\n@torch.jit.script\ndef k(x): ...\n",
    "cute": "import cutlass.cute as cute\nclass K:\n    @cute.kernel\n    def kernel(self): ...\n",
    "tilelang": (
        "import tilelang.language as T\ndef make():\n    @T.prim_func\n    def main(): ...\n    return main\n"
    ),
    "warp": "import warp as wp\n@wp.kernel\ndef k(x: int): ...\n",
    "taichi": "import taichi as ti\n@ti.kernel\ndef k(): ...\n",
    "cupy": "import cupy as cp\nk = cp.RawKernel('', 'k')\n",
    "pycuda": "from pycuda.compiler import SourceModule\nm = SourceModule('')\n",
    "a JIT specification": "from .jit import gen_jit_spec\ndef gen():\n    return gen_jit_spec('x', [])\n",
    "CUDA in a text": "SOURCE = r'''\n__global__ void k() {}\n'''\n",
}

ORDINARY = {
    "torch": "import torch\ndef f(x):\n    return torch.nn.functional.relu(x)\n",
    "torch's own operators": "import torch\ndef f(x):\n    return torch.ops.aten.add.Tensor(x, 1)\n",
    "torch's own compiled module": "import torch\ndef f():\n    return torch._C._get_tracing_state()\n",
    "torch.compile": "import torch\n@torch.compile\ndef f(x): ...\n",
    "a wrapper of operators": "from vllm import _custom_ops as ops\ndef f(x):\n    return ops.norm(x)\n",
    "a predicate": "from vllm.platforms import is_cuda\ndef f():\n    return is_cuda()\n",
    "an attribute of compiled look": "def f(x):\n    return x.to_cuda().my_ext.run()\n",
    "a kernel is launched": "from .kernels import k\ndef f(x):\n    k[(1,)](x)\n",
    "helpers of triton": "import triton\ndef f(n):\n    return triton.cdiv(n, 64)\n",
    "types of ctypes": "import ctypes\nclass A(ctypes.Structure):\n    x = ctypes.c_int\n",
    "an annotation": "import triton\ndef f(config: 'triton.Config') -> triton.Config: ...\n",
    "CUDA in a docstring": "def f():\n    'Launches a __global__ function.'\n",
    "a load of another kind": "import json\ndef f(x):\n    return json.load(x)\n",
    "getattr of anything": "import pkg\ndef f(n):\n    return getattr(pkg, n)\n",
}


@pytest.mark.parametrize("source", BINDINGS.values(), ids=BINDINGS.keys())
def test_a_changed_binding_asks_for_an_acknowledgement(source: str) -> None:
    classified = judged("pkg/a.py", "", source)
    assert (classified.change_class.value, "binding-change" in codes(classified)) == ("binding", True)


@pytest.mark.parametrize("source", KERNELS.values(), ids=KERNELS.keys())
def test_a_changed_kernel_asks_for_an_acknowledgement(source: str) -> None:
    classified = judged("pkg/a.py", "", source)
    assert (classified.change_class.value, codes(classified)) == ("jit", ["jit-change"])


@pytest.mark.parametrize("source", ORDINARY.values(), ids=ORDINARY.keys())
def test_ordinary_python_asks_for_nothing(source: str) -> None:
    classified = judged("pkg/a.py", "", source)
    assert (classified.change_class.value, codes(classified)) == ("python", [])


@pytest.mark.parametrize("source", [*BINDINGS.values(), *KERNELS.values()], ids=[*BINDINGS, *KERNELS])
def test_an_edit_elsewhere_in_such_a_file_is_ordinary(source: str) -> None:
    before = source + "def other(n):\n    return n + 1\n"
    after = '"""A docstring."""\n' + source + "def other(n):\n    return n + 2\n\n\nTHIRD = 3\n"
    classified = judged("pkg/a.py", before, after)
    assert (classified.change_class.value, codes(classified)) == ("python", [])


@pytest.mark.parametrize("source", [*BINDINGS.values(), *KERNELS.values()], ids=[*BINDINGS, *KERNELS])
def test_comments_and_formatting_are_said_to_be_that(source: str) -> None:
    classified = judged(
        "pkg/a.py", source, f"# A comment.\n\n\n{source}\n# Another.\n".replace("(x)", "( x )")
    )
    assert (classified.change_class.value, codes(classified)) == ("python", [])
    assert classified.note == "comments or formatting only"


def test_calling_a_brand_new_operator_is_a_binding() -> None:
    before = """\
        from . import _C

        def g():
            return _C.old_op()
        """
    after = before.replace("old_op", "brand_new_op")
    classified = judged("pkg/a.py", before, after)
    assert classified.change_class.value == "binding"
    assert said(classified) == "declares or calls compiled operators: g (line 3): ._C.brand_new_op"


def test_one_more_import_beside_a_compiled_module_is_ordinary() -> None:
    assert codes(judged("a.py", "from . import _C\n", "from . import _C, version\n")) == []
    assert codes(judged("a.py", "from . import version\n", "from . import _C, version\n")) == [
        "binding-change"
    ]


def test_a_docstring_is_a_real_change() -> None:
    classified = judged("a.py", "def f():\n    'one'\n", "def f():\n    'two'\n")
    assert (codes(classified), classified.note) == ([], None)


def test_moving_a_kernel_changes_nothing_in_it() -> None:
    kernel, other = "@triton.jit\ndef k(x): ...\n", "def f(): ...\n"
    classified = judged("a.py", f"import triton\n{kernel}{other}", f"import triton\n{other}{kernel}")
    assert (codes(classified), classified.note) == ([], None)


def test_wrapping_a_kernel_in_a_condition_changes_nothing_in_it() -> None:
    before = "import triton\n@triton.jit\ndef k(x):\n    return x\n"
    after = "import triton\nif True:\n    @triton.jit\n    def k(x):\n        return x\n"
    assert codes(judged("a.py", before, after)) == []


def test_a_removed_kernel_is_said_to_be_removed() -> None:
    kernel = "@triton.jit\ndef k(x): ...\n"
    classified = judged("a.py", f"import triton\n{kernel}", "import triton\n")
    assert said(classified) == "compiled at run time: k (line 3) removed: triton.jit"


def test_a_definition_that_was_a_kernel_counts() -> None:
    before, after = "import triton\n@triton.jit\ndef k(x): ...\n", "import triton\ndef k(x): ...\n"
    assert "k (line 3) before: triton.jit" in said(judged("a.py", before, after))


def test_new_and_removed_files_count_with_all_their_definitions() -> None:
    source = "import torch\ndef f():\n    torch.ops.pkg.g()\n\ndef h(): ...\n"
    new, removed = judged("a.py", None, source), judged("a.py", source, None)
    assert (codes(new), new.note) == (["binding-change"], "new file, all of its definitions count as changed")
    assert codes(removed) == ["binding-change"]
    assert removed.note == "removed file, all of its definitions count as removed"


def test_an_operator_called_by_a_kernel_is_both() -> None:
    source = "import torch, triton\nconfigs = [triton.Config({})]\ntorch.ops.pkg.f(configs)\n"
    classified = judged("a.py", "", source)
    assert (classified.change_class.value, codes(classified)) == ("binding", ["binding-change", "jit-change"])


KERNEL_WITH_NEIGHBOURS = """\
    import triton
    import triton.language as tl
    from .shapes import helper

    BLOCK = tl.constexpr(64)
    UNREAD = 1
    WIDTH = 2 * BLOCK

    def scale(x):
        return x * WIDTH

    def unrelated(x):
        return x + UNREAD

    @triton.jit
    def kernel(x, BLOCK_M: tl.constexpr):
        local = scale(x)
        return local + BLOCK_M

    def launch(x):
        kernel[(1,)](x, BLOCK_M=64)
    """


@pytest.mark.parametrize(
    ("was", "is_now", "expected"),
    [
        ("x * WIDTH", "x * WIDTH * 2", "scale (line 9): read by kernel kernel"),
        ("2 * BLOCK", "4 * BLOCK", "WIDTH (line 7): read by kernel kernel"),
        ("constexpr(64)", "constexpr(128)", "BLOCK (line 5): read by kernel kernel"),
        ("local + BLOCK_M", "local - BLOCK_M", "kernel (line 16): triton.jit"),
        ("UNREAD = 1", "UNREAD = 2", ""),
        ("x + UNREAD", "x - UNREAD", ""),
        ("BLOCK_M=64", "BLOCK_M=32", ""),
        ("import helper", "import helper, other", ""),
    ],
)
def test_what_a_kernel_reads_counts(was: str, is_now: str, expected: str) -> None:
    changed = judged("a.py", KERNEL_WITH_NEIGHBOURS, KERNEL_WITH_NEIGHBOURS.replace(was, is_now))
    assert said(changed) == (f"compiled at run time: {expected}" if expected else "")


def test_methods_that_a_kernel_calls_on_itself_count() -> None:
    before = """\
        import cutlass.cute as cute

        class Kernel:
            @cute.kernel
            def kernel(self):
                return self.helper()

            def helper(self):
                return 1

            def report(self):
                return 1
        """
    helper = before.replace(
        "def helper(self):\n                return 1", "def helper(self):\n                return 2"
    )
    report = before.replace(
        "def report(self):\n                return 1", "def report(self):\n                return 2"
    )
    assert "Kernel.helper (line 8): read by kernel Kernel.kernel" in said(judged("a.py", before, helper))
    assert codes(judged("a.py", before, report)) == []


def test_a_function_handed_to_a_compiler_is_a_kernel() -> None:
    before = "import triton\nN = 1\ndef slow(x):\n    return x + N\nfast = triton.jit(slow)\n"
    assert codes(judged("a.py", before, before.replace("N = 1", "N = 2"))) == ["jit-change"]


def test_a_library_kept_on_self_is_followed() -> None:
    source = """\
        import ctypes

        class Nccl:
            def __init__(self):
                self.lib = ctypes.CDLL("libnccl.so")
                self.size = self.lib.size()

            def rank(self):
                return 0
        """
    assert "ctypes.CDLL" in said(judged("a.py", "", source))
    assert codes(judged("a.py", source, source.replace("return 0", "return 1"))) == []


BROKEN = {
    "no Python": b"def f(:\n",
    "a return outside of a function": b"return 1\n",
    "a NUL byte": b"a = 1\0\n",
    "no UTF-8": b"a = '\xff'\n",
    "an unknown encoding": b"# -*- coding: nonsense -*-\n",
    "deep nesting": b"a = " + b"(" * 5000 + b")" * 5000 + b"\n",
    "a merge conflict": b"<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> x\n",
}


TOO_DEEP = b"a = " + b"-" * 200_000 + b"1\n"


@pytest.mark.parametrize("after", [*BROKEN.values(), TOO_DEEP], ids=[*BROKEN.keys(), "a long chain of signs"])
def test_what_python_would_refuse_is_a_syntax_error(after: bytes) -> None:
    classified = judged("a.py", b"a = 1\n", after)
    assert (classified.change_class.value, codes(classified)) == ("python", ["syntax-error"])
    assert "Python" not in said(classified), "which one judged is of interest only where there are two"


@pytest.mark.parametrize("before", BROKEN.values(), ids=BROKEN.keys())
def test_a_file_that_is_mended_is_judged_whole(before: bytes) -> None:
    assert codes(judged("a.py", before, b"a = 2\n")) == []
    assert codes(judged("a.py", before, b"from . import _C\n")) == ["binding-change"]
    assert codes(judged("a.py", before, None)) == []


@pytest.mark.parametrize("after", [b"a = 2\n", None])
def test_what_a_parser_had_no_room_for_is_not_called_empty(after: bytes | None) -> None:
    """HEAD's side may call an operator, of which nothing would be seen: that is no class of the change."""
    assert codes(judged("a.py", b"from . import _C\n" + TOO_DEEP, after)) == ["syntax-error"]


ENCODED = {
    "a declared encoding": "# -*- coding: latin-1 -*-\na = 'größe'\n".encode("latin-1"),
    "a byte order mark": "\ufeffa = 'größe'\n".encode(),
    "CRLF": b"a = 1\r\nb = 2\r\n",
    "a form feed": b"a = 1\n\x0c\nb = 2\n",
    "a huge number": b"a = 0x" + b"f" * 20_000 + b"\n",
    "a long chain of terms": b"a = " + b" + ".join([b"'x'"] * 1500) + b"\n",
    "an escape that warns": b"a = '\\d'\n",
}


@pytest.mark.parametrize("after", ENCODED.values(), ids=ENCODED.keys())
@pytest.mark.filterwarnings("error")
def test_unusual_python_is_python(after: bytes) -> None:
    assert codes(judged("a.py", b"a = 1\n", after)) == []
    assert judged("a.py", after, after + b"# A comment.\n").note == "comments or formatting only"


def test_a_newline_style_is_formatting() -> None:
    assert judged("a.py", b"a = 1\nb = 2\n", b"a = 1\r\nb = 2\r\n").note == "comments or formatting only"


def test_a_generated_header_is_worth_a_note() -> None:
    source = "# Generated by tool 1.2. DO NOT EDIT.\na = 1\n"
    assert judged("a.py", source, source.replace("a = 1", "a = 2")).note == (
        "its first lines say that it is generated"
    )
    assert judged("a.py", "a = 1\n", "a = 'Generated by'\n").note is None


def test_many_definitions_are_counted_and_not_all_listed() -> None:
    source = "import torch\n" + "".join(f"def f{n}():\n    torch.ops.p.g()\n" for n in range(9))
    assert said(judged("a.py", "", source)).endswith("and 3 more")


@pytest.mark.parametrize("source", ["def setup(): ...\nsetup()\n", "from .base import setup\nsetup(1)\n"])
def test_a_module_called_setup_is_a_module(source: str) -> None:
    assert judged("pkg/setup.py", source, source + "a = 1\n").change_class.value == "python"
