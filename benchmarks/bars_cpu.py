"""The bars on a CPU: large adds, softmax and matmul beside NumPy and torch, caches warm.

python benchmarks/bars_cpu.py        from a release build (make build), on an idle machine

Apart from run.py because its question is another: sustained speed, with nothing between
two calls, where run.py empties the caches. The contenders take turns; medians, in ms.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import matmul
import numpy as np
import softmax
import torch
import vector_add

import tegula as triton


def medians(fns: dict[str, Callable[[], object]]) -> dict[str, float]:
    times: dict[str, list[float]] = {who: [] for who in fns}
    for fn in fns.values():
        fn(), fn()
    for _ in range(15):
        for who, fn in fns.items():
            for _ in range(3):
                start = time.perf_counter()
                fn()
                times[who].append((time.perf_counter() - start) * 1e3)
    return {who: round(statistics.median(t), 2) for who, t in times.items()}


def main() -> None:
    rng = np.random.default_rng(0)
    n = 1 << 24
    x, y = rng.standard_normal((2, n), dtype=np.float32)
    z = np.empty_like(x)
    tx, ty, tz = torch.from_numpy(x), torch.from_numpy(y), torch.empty(n)
    add = triton.jit(vector_add.add_kernel)
    for block in (1024, 4096, 65536):
        fns = {
            "tegula": lambda b=block: add[(triton.cdiv(n, b),)](x, y, z, n, BLOCK=b),
            "numpy": lambda: np.add(x, y, out=z),
            "torch": lambda: torch.add(tx, ty, out=tz),
        }
        print("add 2^24, block", block, medians(fns), flush=True)

    a = rng.standard_normal((4096, 1024), dtype=np.float32)
    b, ta = np.empty_like(a), torch.from_numpy(a)
    row = triton.jit(softmax.softmax_kernel)

    def plain() -> np.ndarray:
        e = np.exp(a - a.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    fns = {
        "tegula": lambda: row[(4096,)](a, b, 1024, BLOCK=1024),
        "numpy": plain,
        "torch": lambda: torch.softmax(ta, 1),
    }
    print("softmax 4096x1024", medians(fns), flush=True)

    a, b = rng.standard_normal((2, 1024, 1024)).astype(np.float32)
    c, ta, tb = np.empty_like(a), torch.from_numpy(a), torch.from_numpy(b)
    tc = torch.empty_like(ta)
    dot = triton.jit(matmul.matmul_kernel)
    opts = {"BM": 64, "BN": 64, "BK": 32, "GROUP": 8}
    fns = {
        "tegula": lambda: dot[(256,)](a, b, c, 1024, 1024, 1024, **opts),
        "numpy": lambda: np.matmul(a, b, out=c),
        "torch": lambda: torch.matmul(ta, tb, out=tc),
    }
    print("matmul 1024^3", medians(fns))


if __name__ == "__main__":
    main()
