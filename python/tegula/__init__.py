"""A kernel language for tiles: Python functions that run on blocks of arrays.

    import numpy as np, tegula as triton, tegula.language as tl

    @triton.jit
    def add(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n)
        y = tl.load(y_ptr + i, mask=i < n)
        tl.store(z_ptr + i, x + y, mask=i < n)

    add[(triton.cdiv(n, 256),)](x, y, z, n, BLOCK=256)

jit          makes a kernel; kernel[grid](..) launches it    autotune     measures Configs
cdiv         division that rounds up                         heuristics   computes arguments
compile      for any target, without a launch                language     what kernels say
ops          softmax, attention, matmul .. with gradients    testing      do_bench, plots
knobs        every TEGULA_* variable                         errors       what is raised

On a terminal: python -m tegula doctor | run | compile | tutorial.
"""

from __future__ import annotations

__version__ = "0.1.0"

from typing import TYPE_CHECKING

from tegula import errors as errors
from tegula import knobs as knobs
from tegula._core import CompiledKernel as CompiledKernel
from tegula.autotune import Autotuner as Autotuner
from tegula.autotune import Config as Config
from tegula.autotune import Heuristics as Heuristics
from tegula.autotune import autotune as autotune
from tegula.autotune import heuristics as heuristics
from tegula.errors import CompilationError as CompilationError
from tegula.errors import CompileError as CompileError
from tegula.errors import EmulatorError as EmulatorError
from tegula.errors import GridError as GridError
from tegula.errors import OutOfResources as OutOfResources
from tegula.errors import TegulaError as TegulaError
from tegula.jit import JITFunction as JITFunction
from tegula.jit import KernelInterface as KernelInterface
from tegula.jit import jit as jit
from tegula.constexprs import cdiv as cdiv
from tegula.constexprs import constexpr_function as constexpr_function
from tegula.constexprs import next_power_of_2 as next_power_of_2

# What few programs need, found when first asked for: importing us stays cheap.
_LATER = {
    "ASTSource": "compat.compiler",
    "AsyncCompileMode": "compat.async_compile",
    "FutureKernel": "compat.async_compile",
    "aggregate": "language.aggregates",
    "MockTensor": "tensors",
    "TensorWrapper": "tensors",
    "compile": "compat.compiler",
    "get_allocator": "tensors",
    "must_use_result": "constexprs",
    "reinterpret": "tensors",
    "set_allocator": "tensors",
    "TritonError": "errors",
    "InterpreterError": "errors",
    "PTXASError": "errors",
}
_MODULES = {
    **dict.fromkeys(("backends", "compiler", "driver"), "tegula.compat."),
    **dict.fromkeys(
        ("compat", "language", "ops", "profiler", "runtime", "testing", "tools"),
        "tegula.",
    ),
}

# What other packages of kernels have under these names.
_ELSEWHERE = {
    **dict.fromkeys(
        ("njit", "vectorize", "guvectorize", "cuda", "kernel", "function"),
        "@tegula.jit is for CPUs and GPUs: a kernel runs where its arrays are",
    ),
    **dict.fromkeys(
        ("pallas_call", "BlockSpec", "vmap", "launch"),
        "kernel[grid](..) launches programs, and each computes its own addresses",
    ),
    "prange": "the programs of a grid run side by side: kernel[(n,)](..)",
    "device_array": "kernels take NumPy's, torch's, CuPy's and JAX's arrays as they are",
}

if TYPE_CHECKING:
    from tegula.compat import backends as backends
    from tegula import compat as compat
    from tegula.compat import compiler as compiler
    from tegula.compat import driver as driver
    from tegula import language as language
    from tegula import ops as ops
    from tegula import profiler as profiler
    from tegula import runtime as runtime
    from tegula import testing as testing
    from tegula import tools as tools
    from tegula.compat.async_compile import AsyncCompileMode as AsyncCompileMode
    from tegula.compat.async_compile import FutureKernel as FutureKernel
    from tegula.compat.compiler import ASTSource as ASTSource
    from tegula.language.aggregates import aggregate as aggregate
    from tegula.tensors import MockTensor as MockTensor
    from tegula.tensors import TensorWrapper as TensorWrapper
    from tegula.compat.compiler import compile as compile
    from tegula.tensors import get_allocator as get_allocator
    from tegula.constexprs import must_use_result as must_use_result
    from tegula.tensors import reinterpret as reinterpret
    from tegula.tensors import set_allocator as set_allocator
    from tegula.errors import TritonError as TritonError
    from tegula.errors import InterpreterError as InterpreterError
    from tegula.errors import PTXASError as PTXASError
else:

    def __getattr__(name: str) -> object:
        import importlib
        import sys

        if name in _LATER:
            return getattr(importlib.import_module(f"tegula.{_LATER[name]}"), name)
        if name in _MODULES:
            return importlib.import_module(_MODULES[name] + name)
        text = f"module 'tegula' has no attribute {name!r}"
        if name in _ELSEWHERE:
            text += f": {_ELSEWHERE[name]}"
        elif name in dir(sys.modules.get(f"{__name__}.language")):
            text += f": it is tl.{name}, after import tegula.language as tl"
        raise AttributeError(text, name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_MODULES})
