"""What a GPU can do at most: for rooflines. Imported through ``tegula.testing``.

Numbers of operations are NVIDIA's, for dense operands, of one multiprocessor in a clock:
csrc/base/chips.def has them.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tegula import _core


def _properties(device: int | None) -> dict[str, Any]:
    from tegula.compat import driver

    active: Any = driver.active
    if device is None:
        device = active.get_current_device()
    return {
        "sm": int(active.get_current_target().arch)
        if active.get_current_target().backend == "cuda"
        else 0,
        **active.utils.get_device_properties(device),
    }


def _name(dtype: Any) -> str:
    name = getattr(dtype, "name", None) or str(dtype).removeprefix("torch.")
    return {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}.get(name, name)


def _of_machine(column: str, p: dict[str, Any]) -> int:
    if not p["sm"]:
        raise ValueError("there is no GPU here")
    chip = _core._chip(p["sm"])
    if chip["sm"] != p["sm"] or not chip[column]:
        raise ValueError(f"the peak of sm_{p['sm']} is not known")
    return chip[column]


def get_dram_gbps(device: int | None = None) -> float:
    """Gigabytes a second between the GPU and its memory."""
    p = _properties(device)
    if not p["mem_clock_rate"] or not p["mem_bus_width"]:
        raise ValueError(
            "the clock and the width of this machine's memory are not known"
        )
    return float(p["mem_clock_rate"]) * p["mem_bus_width"] * 2 / 8 * 1e-6


def get_max_tensorcore_tflops(
    dtype: Any, clock_rate: float, device: int | None = None
) -> float:
    """TFLOP/s of the tensor cores for operands of dtype, at clock_rate kHz."""
    p, name = _properties(device), _name(dtype)
    at_16_bits = _of_machine("tensor", p)
    if name in ("fp32", "tf32"):
        factor = 0.5
    elif name in ("fp16", "bf16"):
        factor = 1.0
    elif name == "int8" or "float8" in name or name.startswith("fp8"):
        factor = 2.0
    else:
        raise ValueError(f"tensor cores do not take {dtype}")
    ops = p["multiprocessor_count"] * at_16_bits * factor
    return float(ops) * clock_rate * 1e-9


def get_max_simd_tflops(
    dtype: Any, clock_rate: float, device: int | None = None
) -> float:
    """TFLOP/s outside of the tensor cores for fp32, fp16 or bf16, at clock_rate kHz."""
    p, name = _properties(device), _name(dtype)
    if name not in ("fp32", "fp16", "bf16"):
        raise ValueError(f"expected fp32, fp16 or bf16, not {dtype}")
    rate = _of_machine("simd32" if name == "fp32" else "simd16", p)
    ops = p["multiprocessor_count"] * rate
    return float(ops) * clock_rate * 1e-9


def nvsmi(attrs: Sequence[str]) -> list[int]:
    """What nvidia-smi says of the first GPU: ``nvsmi(["clocks.current.sm"])``."""
    query = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(attrs)}"]
    done = subprocess.run(
        [*query, "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(s) for s in done.stdout.strip().split(",")]


@contextmanager
def set_gpu_clock(
    ref_sm_clock: int = 1350, ref_mem_clock: int = 1215
) -> Iterator[tuple[float, float]]:
    """Fix the clocks of the first GPU, in MHz, inside of a block; needs nvidia-smi and the
    right to. Gives the TFLOP/s of 16-bit tensor cores and the GB/s of memory at them."""

    def smi(*options: str) -> None:
        subprocess.run(["nvidia-smi", *options], check=True, capture_output=True)

    try:
        smi("-pm", "1")
        smi(f"--lock-gpu-clocks={ref_sm_clock},{ref_sm_clock}")
        smi(f"--lock-memory-clocks={ref_mem_clock},{ref_mem_clock}")
        sm, memory = nvsmi(["clocks.current.sm", "clocks.current.memory"])
        if abs(sm - ref_sm_clock) >= 10 or abs(memory - ref_mem_clock) >= 10:
            raise RuntimeError(f"the GPU runs at {sm} and {memory} MHz all the same")
        p = _properties(0)
        yield (
            get_max_tensorcore_tflops("fp16", ref_sm_clock * 1e3, 0),
            ref_mem_clock * 1e3 * p["mem_bus_width"] * 2 / 8 * 1e-6,
        )
    finally:
        smi("-pm", "0")
        smi("-rgc")
        smi("-rmc")


def cuda_memcheck(**target_kwargs: Any) -> Callable[..., Any]:
    """Decorator of a test: where its arguments are target_kwargs, run it in a process of
    its own under compute-sanitizer, which must find nothing. The test takes pytest's
    ``request``."""

    def decorator(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def wrapper(*args: Any, **kwargs: Any) -> None:
            import os
            import sys

            is_target = target_kwargs.items() <= kwargs.items()
            if not is_target or os.environ.get("UNDER_COMPUTE_SANITIZER"):
                test(*args, **kwargs)
                return
            if "request" not in kwargs:
                raise TypeError(f"{test.__name__} must take pytest's request")
            node = kwargs["request"].node
            where = f"{node.path}::{node.name}"
            done = subprocess.run(
                ["compute-sanitizer", sys.executable, "-m", "pytest", "-vsx", where],
                capture_output=True,
                text=True,
                env={**os.environ, "UNDER_COMPUTE_SANITIZER": "1"},
                check=False,
            )
            if done.returncode or "ERROR SUMMARY: 0 errors" not in done.stdout:
                raise AssertionError(done.stdout)

        return wrapper

    return decorator
