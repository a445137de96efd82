"""Tegula: a kernel language for tiles. The public names, nothing else."""

from __future__ import annotations

__version__ = "0.1.0"

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
from tegula.errors import OutOfResources as OutOfResources
from tegula.errors import TegulaError as TegulaError
from tegula.jit import JITFunction as JITFunction
from tegula.jit import KernelInterface as KernelInterface
from tegula.jit import jit as jit
from tegula.constexprs import cdiv as cdiv
from tegula.constexprs import constexpr_function as constexpr_function
from tegula.constexprs import next_power_of_2 as next_power_of_2
