"""Tegula: a kernel language for tiles. The public names, nothing else."""

from __future__ import annotations

__version__ = "0.1.0"

from tegula.errors import CompileError as CompileError
from tegula.errors import OutOfResources as OutOfResources
from tegula.jit import JITFunction as JITFunction
from tegula.jit import jit as jit
