"""The names that Triton keeps in ``triton.runtime``; each is defined elsewhere."""

from __future__ import annotations

import importlib

from tegula import errors as errors
from tegula.autotune import Autotuner as Autotuner
from tegula.autotune import Config as Config
from tegula.autotune import Heuristics as Heuristics
from tegula.autotune import autotune as autotune
from tegula.autotune import heuristics as heuristics
from tegula.compat import driver as driver
from tegula.errors import InterpreterError as InterpreterError
from tegula.errors import OutOfResources as OutOfResources
from tegula.jit import JITFunction as JITFunction
from tegula.jit import KernelInterface as KernelInterface
from tegula.runtime import build as build
from tegula.runtime import cache as cache
from tegula.runtime.cache import RedisRemoteCacheBackend as RedisRemoteCacheBackend
from tegula.runtime.cache import RemoteCacheBackend as RemoteCacheBackend
from tegula.tensors import MockTensor as MockTensor
from tegula.tensors import TensorWrapper as TensorWrapper
from tegula.tensors import reinterpret as reinterpret

# tegula.jit and tegula.autotune are, as attributes, the decorators.
jit = importlib.import_module("tegula.jit")
autotuner = importlib.import_module("tegula.autotune")
_allocation = importlib.import_module("tegula.tensors")
