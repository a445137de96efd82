"""``triton._C.libtriton``: of Triton's extension module, what programs ask for themselves.

That is cuBLAS, which its tutorials measure against (torch has it here), linear layouts, and
as much of the IR as torch.compile reads: see ``mlir.py``.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from tegula.compat import mlir
from tegula.signatures import native_specialize_impl as native_specialize_impl
from tegula.tools import linear_layout as linear_layout

__path__: list[str] = []  # Triton has a package here


class CublasLt:
    """cuBLAS with a workspace of the caller's, which torch's has itself."""

    def __init__(self, workspace: Any) -> None:
        self.workspace = workspace

    def matmul(self, a: Any, b: Any, c: Any) -> None:
        """c = a @ b.T, with b as [N, K]: rows of both are along K."""
        import torch

        if a.dtype.itemsize == 1:
            one = torch.ones((), device=a.device)
            product = torch._scaled_mm(a, b.T, one, one, out_dtype=torch.float16)
            c.copy_(product)
        else:
            torch.matmul(a, b.T, out=c)

    def gemm(self, a: Any, b: Any, c: Any, d: Any, alpha: float, beta: float) -> None:
        """d = alpha * a @ b.T + beta * c."""
        import torch

        torch.addmm(c, a, b.T, beta=beta, alpha=alpha, out=d)


ir = SimpleNamespace(context=mlir.Context, load_dialects=mlir.load_dialects)
nvidia = SimpleNamespace(cublas=SimpleNamespace(CublasLt=CublasLt))


def __getattr__(name: str) -> ModuleType:
    if name == "libtriton":
        return sys.modules[__name__]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
