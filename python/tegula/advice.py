"""What ``compiled.report`` advises where the compiler says that something is not as good as
it could be, and what it says of bytes and operations of the latest launch.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Any

# A part of what the compiler says of a line -> what the user can do about it.
FIXES = (
    ("a warpgroup is 4 warps", "launch with num_warps=4 or 8"),
    ("a warpgroup's share is", "blocks of 64 rows for every 4 warps, or more"),
    ("leave no registers", "smaller blocks, or more warps"),
    ("max_num_imprecise_acc", "tl.dot(a, b, acc), whose sum is a short one"),
    ("run along K in memory", "store that operand transposed, or cast it to 16 bits"),
    (
        "wgmma is for f16, bf16, tf32",
        'cast the operands to 16 bits, or input_precision="tf32"',
    ),
    ("the program is a cluster's", "num_ctas=1"),
    ("where functions are called", "take out device_print and device_assert"),
    ("ptxas spills", "smaller blocks, or more warps"),
    ("hopper=1", "leave the option hopper out"),
    ("room for two of it", "smaller blocks, or a smaller num_stages"),
    ("the loop may write what it reads", "load from another tensor than is stored to"),
    ("known too late", "compute addresses from the loop's index"),
    ("it is volatile", "volatile=False"),
    ("`other` is not 0", "other=0, and tl.where behind the load"),
    (
        "level 2: wgmma",
        "the lines `tensor map` and `roles` say why no warps of their own bring its tiles",
    ),
    ("no AVX512-BF16", "on this CPU f32 operands are as fast, and need no conversion"),
    ("not of f16", "bf16 operands, where the CPU has AVX512-BF16, or f32"),
    ("no CPU multiplies this type", "f32, bf16 or int8 operands"),
    ("fewer than 16 columns", "blocks of 16 columns or more"),
    ("addresses are not consecutive", "let the last dim of the block run along memory"),
)


def fix_for(text: str) -> str:
    return next((fix for said, fix in FIXES if said in text), "")


# --- bytes and operations ----------------------------------------------------------------
def amount(n: float, unit: str) -> str:
    """1.31e8, "B" -> "131 MB"."""
    for prefix in ("", "k", "M", "G", "T"):
        if n < 999.5 or prefix == "T":
            digits = f"{n:.0f}" if n >= 100 or not prefix else f"{n:.3g}"
            return f"{digits} {prefix}{unit}"
        n /= 1000
    raise AssertionError("a prefix is always found")


def moved(traffic: dict[str, Any]) -> str:
    """One line: what the launch asked memory for, and what it computed."""
    n = int(traffic["programs"])
    parts = [f"{n} program{'s' * (n != 1)}"]
    for what in ("loaded", "stored", "atomic"):
        if traffic[what]:
            verb = "in atomics" if what == "atomic" else what
            parts.append(f"{amount(traffic[what], 'B')} {verb}")
    asked = traffic["loaded"] + traffic["stored"] + traffic["atomic"]
    if traffic["touched"] < 0.99 * asked:
        parts.append(
            f"{amount(traffic['touched'], 'B')} if caches hold what is read again"
        )
    flops = traffic["dot_flops"] + traffic["flops"]
    if flops:
        parts.append(amount(flops, "flop"))
    about = "about, as it depends on what is in memory: " if traffic["is_bound"] else ""
    return f"latest launch: {about}{', '.join(parts)}"


def roofline(traffic: dict[str, Any], gbs: float, tflops: float) -> str:
    """One line: what a machine of that bandwidth and speed needs at least."""
    memory = traffic["touched"] / gbs / 1e6
    compute = (traffic["dot_flops"] + traffic["flops"]) / tflops / 1e9
    bound = "memory" if memory >= compute else "arithmetic"
    return (
        f"roofline: bound by {bound}: {memory:.3g} ms at {amount(gbs * 1e9, 'B/s')}, "
        f"{compute:.3g} ms at {amount(tflops * 1e12, 'flop/s')}"
    )


def peaks_of(compiled: Any, traffic: dict[str, Any]) -> tuple[float, float] | None:
    """GB/s and TFLOP/s of the machine it runs on; None where nobody knows."""
    if compiled.target == "cpu":
        return cpu_peaks()
    if not compiled.target.startswith("cuda"):
        return None
    from tegula import peaks
    from tegula.compat import driver

    try:
        p: Any = driver.active
        device = p.get_current_device()
        clock = p.utils.get_device_properties(device)["sm_clock_rate"]
        types = {
            str(ty).lstrip("*") for _, ty, is_ptr, *_ in compiled._params if is_ptr
        }
        narrow = types & {"fp16", "bf16"}
        if traffic["dot_flops"]:
            ty = "fp16" if narrow else "fp32"
            top = peaks.get_max_tensorcore_tflops(ty, clock, device)
        else:
            top = peaks.get_max_simd_tflops("fp32", clock, device)
        return peaks.get_dram_gbps(device), top
    except (ValueError, KeyError, RuntimeError):
        return None


@functools.cache
def cpu_peaks() -> tuple[float, float] | None:
    """Measured once a process, in some 0.1 s: NumPy's copies of 16 MB by each thread, and
    its product of 768 x 768 float32."""
    try:
        import numpy as np
    except ImportError:
        return None
    from concurrent.futures import ThreadPoolExecutor

    from tegula import knobs

    n = knobs.runtime.num_threads or len(os.sched_getaffinity(0))
    sides = np.ones((n, 2, 1 << 22), np.float32)
    a: Any = np.ones((768, 768), np.float32)
    with ThreadPoolExecutor(n) as pool:

        def copies() -> None:
            list(pool.map(lambda p: np.copyto(p[1], p[0]), sides))

        gbs = 2 * 4 * (1 << 22) * n / _best(copies) / 1e9
    return gbs, 2 * 768**3 / _best(lambda: a @ a) / 1e12


def _best(call: Callable[[], Any]) -> float:
    """Seconds, the best of five."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)
