"""The bars on a CPU: large adds, softmax and matmul beside NumPy and torch, caches warm.

python benchmarks/bars_cpu.py [series] [names]    from a release build (make build)
python benchmarks/bars_cpu.py 8 softmax matmul    these cases only, 8 series (the default)

Apart from run.py because its question is another: sustained speed, with nothing between
two calls, where run.py empties the caches. And how sure it is: a shared machine moves, so
everything is measured in several series, each of which is one judgement of the bars.

In a series the contenders take turns, ROUNDS times. A turn starts with a pause, for the
threads of torch's OpenMP and of NumPy's OpenBLAS spin after their work is done (OpenBLAS
for 2^26 cycles) and would hold a core of the next contender; then one call that is not
timed, which wakes its own threads, and CALLS that are. A series' time is the median; its
ratio the other's time over ours.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator

import matmul
import numpy as np
import softmax
import torch
import vector_add

import tegula as triton
import tegula.language as tl

ROUNDS, CALLS, PAUSE = 10, 4, 0.03
Contenders = dict[str, Callable[[], object]]


def series(fns: Contenders) -> dict[str, float]:
    """Milliseconds of each contender: the median of its calls."""
    times: dict[str, list[float]] = {who: [] for who in fns}
    for _ in range(ROUNDS):
        for who, fn in fns.items():
            time.sleep(PAUSE)
            fn()
            for _ in range(CALLS):
                start = time.perf_counter()
                fn()
                times[who].append((time.perf_counter() - start) * 1e3)
    return {who: statistics.median(t) for who, t in times.items()}


def cases() -> Iterator[tuple[str, dict[str, float], Contenders]]:
    """Name, bars by contender, contenders; ours is called tegula."""
    rng = np.random.default_rng(0)
    n = 1 << 24
    x, y = rng.standard_normal((2, n), dtype=np.float32)
    z, nz = np.empty_like(x), np.empty_like(x)
    tx, ty, tz = torch.from_numpy(x), torch.from_numpy(y), torch.empty(n)
    add = triton.jit(vector_add.add_kernel)
    for block in (1024, 4096, 65536):
        yield (
            f"add 2^24 f32, BLOCK {block}",
            {"numpy": 0.9},
            {
                "tegula": lambda b=block: add[(n // b,)](x, y, z, n, BLOCK=b),
                "numpy": lambda: np.add(x, y, out=nz),
                "torch": lambda: torch.add(tx, ty, out=tz),
            },
        )

    a = rng.standard_normal((4096, 1024), dtype=np.float32)
    b, ta = np.empty_like(a), torch.from_numpy(a)
    row = triton.jit(softmax.softmax_kernel)

    def plain() -> np.ndarray:
        e = np.exp(a - a.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    yield (
        "softmax 4096x1024 f32",
        {"numpy": 3, "torch": 0.8},
        {
            "tegula": lambda: row[(4096,)](a, b, 1024, BLOCK=1024),
            "numpy": plain,
            "torch": lambda: torch.softmax(ta, 1),
        },
    )

    p, q = rng.standard_normal((2, 1024, 1024)).astype(np.float32)
    r, nr, tp, tq = np.empty_like(p), np.empty_like(p), *map(torch.from_numpy, (p, q))
    tr = torch.empty_like(tp)
    dot = triton.jit(matmul.matmul_kernel)
    for m, n, k in ((64, 64, 32), (128, 128, 64)):
        opts = {"BM": m, "BN": n, "BK": k, "GROUP": 8}
        grid = (1024 // m * 1024 // n,)
        yield (
            f"matmul 1024^3 f32, {m}x{n}x{k}",
            {"torch": 0.3},
            {
                "tegula": lambda g=grid, o=opts: dot[g](p, q, r, 1024, 1024, 1024, **o),
                "numpy": lambda: np.matmul(p, q, out=nr),
                "torch": lambda: torch.matmul(tp, tq, out=tr),
            },
        )

    # Narrow operands: twice and four times as many to a register, where the CPU adds up
    # several products at a time.
    size = 2048
    grid = (size // 256 * (size // 256),)
    opts = {"BM": 256, "BN": 256, "BK": 256, "GROUP": 8}
    for dtype in (torch.bfloat16, torch.float32):
        u, v = (torch.randn(size, size).to(dtype) for _ in range(2))
        w, tw = (torch.empty(size, size, dtype=dtype) for _ in range(2))
        yield (
            f"matmul 2048^3 {str(dtype).removeprefix('torch.')}, 256x256x256",
            {"torch": 0.9},
            {
                "tegula": lambda u=u, v=v, w=w: dot[grid](
                    u, v, w, size, size, size, **opts
                ),
                "torch": lambda u=u, v=v, w=tw: torch.matmul(u, v, out=w),
            },
        )
    s, t = (torch.randint(-128, 128, (size, size)).to(torch.int8) for _ in range(2))
    sums = torch.empty(size, size, dtype=torch.int32)
    opts = {**opts, "ACC": tl.int32}
    yield (
        f"matmul {size}^3 int8, 256x256x256",
        {"torch": 0.9},
        {
            "tegula": lambda: dot[grid](s, t, sums, size, size, size, **opts),
            "torch": lambda: torch._int_mm(s, t),
        },
    )


def main() -> None:
    names = sys.argv[1:]
    count = int(names.pop(0)) if names and names[0].isdigit() else 8
    print("| kernel | ours, ms | of | median | least to most | bar | below |")
    print("|---|---|---|---|---|---|---|")
    for name, bars, fns in cases():
        if names and not any(part in name for part in names):
            continue
        got = [series(fns) for _ in range(count)]
        ours = statistics.median(g["tegula"] for g in got)
        for who in fns:
            if who == "tegula":
                continue
            ratios = sorted(g[who] / g["tegula"] for g in got)
            bar = bars.get(who)
            below = sum(r < bar for r in ratios) if bar else ""
            print(
                f"| {name} | {ours:.2f} | {who} | {statistics.median(ratios):.2f} "
                f"| {ratios[0]:.2f} to {ratios[-1]:.2f} | {bar or ''} "
                f"| {f'{below} of {count}' if bar else ''} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
