"""Kernel tests run on every target: the CPU, the emulator, as PTX on its interpreter, a GPU
where there is one."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "ptxsim"))  # simulated.py

import simulated  # noqa: E402

STAND_INS = ["emu:sm_80", "emu:sm_90a", "ptxsim:sm_75", "ptxsim:sm_80", "ptxsim:sm_90a"]
TARGETS = ["cpu", *STAND_INS, "cuda"]
INTERPRETER = "interpret"


def pytest_collection_modifyitems(config: pytest.Config, items: list) -> None:
    """Of the emulated and simulated GPUs each case meets one, by its name and the turn: one
    engine runs the PTX of all. Under --full, or named itself, it meets all."""
    if config.getoption("--full"):
        return
    kept, dropped = [], []
    for item in items:
        of_ours = HERE in item.path.parents and hasattr(item, "callspec")
        params = item.callspec.params if of_ours else {}
        target = params.get("device", params.get("anywhere"))
        drawn = target
        if target in STAND_INS and item.nodeid not in config.args:
            case = zlib.crc32(item.nodeid.replace(target, "").encode())
            drawn = STAND_INS[(case + int(os.environ["TEGULA_TURN"])) % len(STAND_INS)]
        (kept if drawn == target else dropped).append(item)
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


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
        self.is_simulated = target.startswith("ptxsim")
        self.is_ptx = self.is_simulated or target.startswith(("cuda", "emu"))
        self.is_emulated = target.startswith("emu") or self.is_simulated

    def put(self, x: np.ndarray) -> Any:
        """A copy of x that kernels of this target take."""
        if self.target == "cuda":
            return torch_cuda().from_numpy(np.ascontiguousarray(x)).cuda()
        if self.is_simulated:
            return simulated.put(x, self.target.removeprefix("ptxsim:"))
        return np.array(x, order="C")

    def poison(self, shape: Any, dtype: Any) -> Any:
        """Memory for a result, filled with what no kernel means to write."""
        dtype = np.dtype(dtype)
        value = np.nan if dtype.kind == "f" else np.array(77, dtype)
        return self.put(np.full(shape, value, dtype))

    def get(self, x: Any) -> np.ndarray:
        if self.is_simulated:
            return x.numpy()
        return x if isinstance(x, np.ndarray) else x.cpu().numpy()

    def address(self, x: Any) -> int:
        """Of its first element."""
        return x.ctypes.data if isinstance(x, np.ndarray) else x.data_ptr()

    def small(self, sizes: list, limit: int) -> list:
        """The sizes the emulator can run in a test's time."""
        return [s for s in sizes if not self.is_emulated or np.prod(s) <= limit]


@contextmanager
def opened(target: str) -> Iterator[Device]:
    if target == "cuda" and torch_cuda() is None:
        pytest.skip("no GPU")
    is_simulated = target.startswith("ptxsim")
    if is_simulated and not simulated.available():
        pytest.skip("no build/libptxsim.so")
    with tegula.knobs.runtime.scope(), tegula.knobs.nvidia.scope():
        named = target.startswith("emu") or target == "cpu"
        tegula.knobs.runtime.target = target if named else None
        if target == INTERPRETER:
            tegula.knobs.runtime.interpret = True
        if is_simulated:
            tegula.knobs.nvidia.ptxas = "none"
            simulated.start()
        yield Device(target)


@pytest.fixture(params=TARGETS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    with opened(request.param) as d:
        yield d


@pytest.fixture(params=[*TARGETS, INTERPRETER])
def anywhere(request: pytest.FixtureRequest) -> Iterator[Device]:
    """The same, and TEGULA_INTERPRET."""
    with opened(request.param) as d:
        yield d


@pytest.fixture
def ptxsim() -> Iterator[None]:
    """Launches take tensors of simulated.put: for tests of one target's instructions."""
    if not simulated.available():
        pytest.skip("no build/libptxsim.so, or a GPU")
    with simulated.driver():
        yield


@pytest.fixture
def compiles() -> Iterator[list]:
    """A line for each compile."""
    lines: list = []
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.jit_post_compile_hook = lambda **k: lines.append(k)
        yield lines


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    """A target's name, or "interpreter", for launches whose tensors are the host's:
    parametrize it with indirect=True."""
    interpret = request.param == "interpreter"
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.interpret = interpret
        tegula.knobs.runtime.target = "cpu" if interpret else request.param
        yield request.param
