"""Dropout whose mask is never stored: backward draws the same numbers once more."""

from __future__ import annotations

import sys
from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays

BLOCK = 4096


@tegula.jit
def kernel(x_ptr, seed_ptr, y_ptr, n, p, ACC: tl.constexpr, QUARTER: tl.constexpr):
    """One draw of the generator is four numbers: a quarter of the block takes one each."""
    pid = tl.program_id(0)
    j = tl.arange(0, QUARTER)
    a, b, c, d = tl.rand4x(tl.load(seed_ptr), pid * QUARTER + j)
    first = pid.to(tl.int64) * 4 * QUARTER
    some(x_ptr, y_ptr, first + j, a, n, p, ACC)
    some(x_ptr, y_ptr, first + QUARTER + j, b, n, p, ACC)
    some(x_ptr, y_ptr, first + 2 * QUARTER + j, c, n, p, ACC)
    some(x_ptr, y_ptr, first + 3 * QUARTER + j, d, n, p, ACC)


@tegula.jit
def some(x_ptr, y_ptr, i, drawn, n, p, ACC: tl.constexpr):
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    tl.store(y_ptr + i, tl.where(drawn >= p, x / (1.0 - p), 0.0), mask=i < n)


def run(outs: tuple, x: Any, seed: Any, p: float) -> None:
    n = arrays.size(x)
    kernel[(tegula.cdiv(n, BLOCK),)](
        arrays.contiguous(x), seed, *outs, n, p,
        ACC=arrays.accumulator(x)[0], QUARTER=BLOCK // 4,
    )  # fmt: skip


_dropout = arrays.Op(
    "dropout(Tensor x, Tensor seed, float p) -> Tensor",
    lambda x, *_: (arrays.empty(x, x.shape),),
    run,
    lambda args, outs, grads, wanted: _dropout(grads[0], *args[1:]),
)


def dropout(x: Any, p: float = 0.5, seed: Any = None, training: bool = True) -> Any:
    """Each element is 0 with probability p, else ``x / (1 - p)``.

    seed: an int, or an int64 array of one; the same seed drops the same elements. None
    draws one, from torch's generator or NumPy's.
    Cost: one read, one write, each way.
    """
    arrays.check_arrays("dropout", x=x)
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p is a probability, not {p}")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    if arrays.is_torch(x):
        torch = sys.modules["torch"]
        if seed is None:
            seed = torch.randint(1 << 62, (1,), device=x.device)
        elif not arrays.is_torch(seed):
            seed = torch.full((1,), int(seed), dtype=torch.int64, device=x.device)
    else:
        import numpy as np

        if seed is None:
            seed = np.random.randint(1 << 62)
        seed = np.array(seed, np.int64).reshape(1)
    return _dropout(x, seed, float(p))[0]
