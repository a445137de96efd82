"""Kernel tests run on every target: the CPU, the emulator, a GPU where there is one."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tegula

TARGETS = ["cpu", "emu:sm_80", "emu:sm_90a", "cuda"]


def torch_cuda() -> Any:
    """torch where it sees a GPU, else None."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


class Device:
    """Where a kernel test runs: puts arrays there, brings results back."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.is_emulated = target.startswith("emu")

    def put(self, x: np.ndarray) -> Any:
        """A copy of x that kernels of this target take."""
        if self.target == "cuda":
            return torch_cuda().from_numpy(np.ascontiguousarray(x)).cuda()
        return np.array(x, order="C")

    def poison(self, shape: Any, dtype: Any) -> Any:
        """Memory for a result, filled with what no kernel means to write."""
        dtype = np.dtype(dtype)
        value = np.nan if dtype.kind == "f" else np.array(77, dtype)
        return self.put(np.full(shape, value, dtype))

    def get(self, x: Any) -> np.ndarray:
        return x if isinstance(x, np.ndarray) else x.cpu().numpy()

    def small(self, sizes: list, limit: int) -> list:
        """The sizes the emulator can run in a test's time."""
        return [s for s in sizes if not self.is_emulated or np.prod(s) <= limit]


@pytest.fixture(params=TARGETS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    if request.param == "cuda" and torch_cuda() is None:
        pytest.skip("no GPU")
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = None if request.param == "cuda" else request.param
        yield Device(request.param)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))
