"""``python -m tegula doctor``: what this machine has, and one kernel on each target."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from typing import Any

import tegula
import tegula.language as tl
from tegula import _core, compiled, knobs


@tegula.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


def _cpu() -> str:
    name, wanted = platform.machine(), ("avx2", "avx512f", "amx_tile", "asimd", "sve")
    found: list[str] = []
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                key, _, value = line.partition(":")
                if key.strip() == "model name":
                    name = value.strip()
                if key.strip() in ("flags", "Features"):
                    found = [w for w in wanted if w in value.split()]
                    break
    except OSError:
        pass
    threads = len(os.sched_getaffinity(0))
    return f"{name}, {threads} threads, {' '.join(found)}"


def _gpus() -> str:
    try:
        return ", ".join(str(d["name"]) for d in _core.cuda_devices()) or "none"
    except RuntimeError as e:
        return f"none: {e}"


def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _cache() -> str:
    from tegula import cache

    if not knobs.cache.dir:
        return "off"
    total = sum(e.size for e in cache.entries())
    return (
        f"{knobs.cache.dir}, {total / 1e6:.1f} of {knobs.cache.max_bytes / 1e6:.0f} MB"
    )


def facts() -> Iterator[tuple[str, str]]:
    yield "tegula", f"{tegula.__version__} ({_core.build})"
    yield "Python", f"{platform.python_version()}, {platform.platform()}"
    yield "CPU", _cpu()
    yield "GPU", _gpus()
    yield "ptxas", compiled.tool("ptxas") or "none: the driver assembles PTX"
    for package in ("numpy", "torch", "triton"):
        yield package, _version(package)
    yield "cache", _cache()


def _run(target: str) -> str:
    if _version("numpy") == "not installed":
        return "not tried: pip install numpy"
    import numpy as np

    x: Any = np.arange(100, dtype=np.float32)
    y = np.zeros_like(x)
    with knobs.runtime.scope():
        knobs.runtime.target = target
        double[(2,)](x, y, 100, BLOCK=64)
    if not np.array_equal(y, 2 * x):
        raise RuntimeError("the result is wrong")
    return "right"


def _run_on_gpu() -> str:
    import torch

    x = torch.arange(100.0, device="cuda")
    y = torch.zeros_like(x)
    double[(2,)](x, y, 100, BLOCK=64)
    if not torch.equal(y, 2 * x):
        raise RuntimeError("the result is wrong")
    return "right"


def _compile() -> str:
    made = double.compile("*fp32", "*fp32", "i32", BLOCK=64, target="cuda:sm_90a")
    return f"{len(made.asm['ptx'])} bytes of PTX"


def checks() -> Iterator[tuple[str, Callable[[], str]]]:
    yield "compile for cuda:sm_90a", _compile
    for target in ("cpu", "emu:sm_80"):
        yield f"run on {target}", lambda target=target: _run(target)
    if not _gpus().startswith("none") and _version("torch") != "not installed":
        yield "run on cuda", _run_on_gpu


def main() -> int:
    bad = 0
    for name, fact in facts():
        print(f"{name:24} {fact}")
    for name, check in checks():
        try:
            text = check()
        except Exception as e:  # whatever is broken here is what this is for
            bad += 1
            text = f"FAILED: {type(e).__name__}: {e}"
        print(f"{name:24} {text}")
    return 1 if bad else 0
