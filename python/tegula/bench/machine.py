"""What a run was made on, and the machine's ceilings: the lines of a roofline."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

import tegula
from tegula import _core, testing
from tegula.bench.timing import Clock


def cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().split("\n"):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    found = {"tegula": f"{tegula.__version__} ({_core.build})"}
    found["python"] = platform.python_version()
    for name in ("numpy", "torch", "triton"):
        if name in sys.modules:
            found[name] = sys.modules[name].__version__
    return found


def describe(device: str, threads: int) -> dict[str, Any]:
    if device == "cuda":
        import torch

        machine = torch.cuda.get_device_name()
        gb, tflop = gpu_ceilings()
    else:
        n = threads or len(os.sched_getaffinity(0))
        machine = f"{cpu_name()}, {n} threads"
        gb, tflop = cpu_ceilings()
    return {
        "device": device,
        "machine": machine,
        "versions": versions(),
        "peak_gb_per_s": gb,
        "peak_tflop_per_s": tflop,
    }


def gpu_ceilings() -> tuple[float, float]:
    """NVIDIA's: GB/s of the memory, TFLOP/s of 16-bit products at the highest clock."""
    try:
        clock = testing.nvsmi(["clocks.max.sm"])[0] * 1e3
        return (
            testing.get_dram_gbps(),
            testing.get_max_tensorcore_tflops("fp16", clock),
        )
    except (OSError, ValueError, RuntimeError):
        return 0.0, 0.0


def cpu_ceilings() -> tuple[float, float]:
    """Measured: what a copy reads and writes, and NumPy's product in f32."""
    import numpy as np

    clock = Clock("cpu")
    x: Any = np.ones(1 << 25, np.float32)
    y: Any = np.empty_like(x)
    copy = min(clock.times(lambda: np.copyto(y, x), 5))
    n = 1024
    a: Any = np.ones((n, n), np.float32)
    c: Any = np.empty_like(a)
    product = min(clock.times(lambda: np.matmul(a, a, out=c), 5))
    return 2 * x.nbytes / copy / 1e6, 2.0 * n**3 / product / 1e9
