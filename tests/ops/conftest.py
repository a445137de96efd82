"""The ops run where the kernels' tests run: the CPU, the emulator, a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tegula

TARGETS = ["cpu", "emu:sm_80", "cuda"]


class Where:
    def __init__(self, target: str) -> None:
        self.target = target
        self.is_emulated = target.startswith("emu")
        self.device = "cuda" if target == "cuda" else "cpu"

    def randn(self, *shape: int, dtype: str = "float32", grad: bool = True) -> Any:
        import torch

        x = torch.randn(*shape, dtype=torch.float64).to(getattr(torch, dtype))
        return x.to(self.device).requires_grad_(grad)


@pytest.fixture(params=TARGETS)
def where(request: pytest.FixtureRequest) -> Iterator[Where]:
    torch = pytest.importorskip("torch")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    torch.manual_seed(0)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = None if request.param == "cuda" else request.param
        yield Where(request.param)
