"""How every number in this folder is measured: the same way on CPUs and on GPUs.

A benchmark is a module with ``cases(device)``, which yields Case objects. A Case is one
problem and its contenders: callables that solve it, called with no arguments.

1. Each contender runs once; its result is compared with the float64 reference.
2. Each is warmed up.
3. Rounds: every contender in turn is timed a few calls, each behind a write of 256 MB
   that empties the caches. A drift of the clock or a noisy neighbour hits all alike.
4. The median over all rounds is the time; the spread is half the distance between the
   quartiles, as a fraction of the median.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tegula
from tegula import _core
from tegula.testing import clock, to_numpy

Contender = Callable[[], Any]


@dataclass
class Case:
    """One problem: its size, what it must move and compute, and who solves it."""

    name: str  # of the benchmark: "softmax"
    size: str  # of the problem: "4096x1024 f32"
    reference: Any  # the result in float64; None where there is none to compare with
    n_bytes: int = 0  # read and written at the least
    flops: int = 0
    # Calls per timing. Above 1 the caches stay warm and the clock is the host's: that
    # measures a launch, on a GPU too.
    repeat: int = 1
    contenders: dict[str, Contender] = field(default_factory=dict)

    def add(self, who: str, fn: Contender) -> Case:
        self.contenders[who] = fn
        return self


@dataclass
class Row:
    """One contender on one case."""

    name: str
    size: str
    who: str
    device: str
    ms: float  # median
    spread: float  # half the interquartile range / median
    n_calls: int
    error: float  # max |x - reference| / max |reference|
    gb_per_s: float
    tflop_per_s: float
    speedup: float = 1.0  # this case's yardstick: its time / ours, same run
    config: str = ""  # chosen among several: "BM=128 BN=64 num_warps=4"


def relative_error(got: Any, reference: Any) -> float:
    """The largest absolute error over the largest absolute value.

    A reference that is a torch tensor is compared where it is: gigabytes stay there.
    """
    if reference is None:
        return float("nan")
    if hasattr(reference, "amax"):
        if got.shape != reference.shape:
            raise AssertionError(f"shape {got.shape}, expected {reference.shape}")
        scale = float(reference.abs().amax()) or 1.0
        return float((got.double() - reference).abs().amax()) / scale
    got = to_numpy(got).astype(np.float64)
    if got.shape != reference.shape:
        raise AssertionError(f"shape {got.shape}, expected {reference.shape}")
    if not got.size:
        return 0.0
    scale = float(np.max(np.abs(reference))) or 1.0
    return float(np.max(np.abs(got - reference))) / scale


def repeated(fn: Contender, n: int) -> Contender:
    """fn n times; a contender with a method loop(n) does that itself."""
    if hasattr(fn, "loop"):
        return lambda: fn.loop(n)

    def loop() -> None:
        for _ in range(n):
            fn()

    return loop


def measure(case: Case, device: str, budget_ms: float, rounds: int = 15) -> list[Row]:
    """Rows of one case, in the order of its contenders; the first is the yardstick."""
    timer = clock(device if case.repeat == 1 else "cpu")
    settle = clock(device).sync if case.repeat > 1 else timer.flush
    errors, per_round, timed = {}, {}, {}
    for who, fn in case.contenders.items():
        errors[who] = relative_error(fn(), case.reference)
        timed[who] = fn = fn if case.repeat == 1 else repeated(fn, case.repeat)
        timer.sync()
        guess = statistics.median(timer.time_each(fn, 3, settle)) or 1e-3
        share = budget_ms / len(case.contenders) / rounds
        per_round[who] = max(1, min(50, int(share / guess)))
        warm = time.perf_counter()
        while time.perf_counter() - warm < 0.025:
            fn()
            timer.sync()
    times: dict[str, list[float]] = {who: [] for who in case.contenders}
    for _ in range(rounds):
        for who, fn in timed.items():
            ts = timer.time_each(fn, per_round[who], settle)
            times[who] += [t / case.repeat for t in ts]
    rows = []
    for who, ts in times.items():
        low, ms, high = np.quantile(ts, [0.25, 0.5, 0.75])
        rows.append(
            Row(
                case.name,
                case.size,
                who,
                device,
                float(ms),
                float((high - low) / 2 / ms),
                len(ts),
                errors[who],
                case.n_bytes / ms / 1e6,
                case.flops / ms / 1e9,
                config=words(getattr(case.contenders[who], "config", {})),
            )
        )
    for row in rows:
        row.speedup = rows[0].ms / row.ms
    return rows


def in_turn(ready: dict[str, Contender], repeats: int) -> dict[str, float]:
    """On a GPU: the median time of each in ms, each behind a write of 256 MB."""
    torch = torch_or_none()
    flush = torch.empty(64 << 20, device="cuda", dtype=torch.int32)
    times: dict[str, list[Any]] = {who: [] for who in ready}
    for _ in range(repeats):
        for who, fn in ready.items():
            flush.zero_()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            fn()
            end.record()
            times[who].append((begin, end))
    torch.cuda.synchronize()
    return {
        who: statistics.median(a.elapsed_time(b) for a, b in pairs)
        for who, pairs in times.items()
    }


# --- what it ran on ------------------------------------------------------------------
def cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().split("\n"):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def environment(device: str) -> dict[str, Any]:
    """What a reader needs to know about the run."""
    versions = {"tegula": tegula.__version__, "numpy": np.__version__}
    for name in ("torch", "triton", "cupy"):
        if name in sys.modules:
            versions[name] = sys.modules[name].__version__
    out = {
        "device": device,
        "cpu": cpu_name(),
        "cpus": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": versions,
        "build": _core.build,
    }
    if device == "cuda" and "torch" in versions:
        out["gpu"] = sys.modules["torch"].cuda.get_device_name()
    return out


# --- contenders' side ----------------------------------------------------------------
def torch_or_none() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def has_gpu() -> bool:
    torch = torch_or_none()
    return torch is not None and torch.cuda.is_available()


def to_device(x: np.ndarray, device: str) -> Any:
    """What a kernel gets: the array itself on the CPU, a torch tensor on a GPU."""
    return x if device == "cpu" else torch_or_none().from_numpy(x).to(device)


def float64(x: np.ndarray, device: str) -> Any:
    """x for a reference: large ones are computed where the machine is fast."""
    return to_device(x.astype(np.float64), device)


def triton_kernel(fn: Callable[..., None], device: str) -> Any:
    """fn under Triton's own jit, or None where Triton or a GPU is missing.

    The same code with other globals: there, tl is Triton's.
    """
    if device != "cuda":
        return None
    try:
        import triton
        import triton.language
    except ImportError:
        return None
    names = {**fn.__globals__, "triton": triton, "tl": triton.language}
    twin = types.FunctionType(fn.__code__, names, fn.__name__, fn.__defaults__)
    twin.__annotations__ = fn.__annotations__
    return triton.jit(twin)


class Best:
    """launch with the keywords that ran fastest, each alone, a few calls.

    Configurations that a target cannot run are left out. ``times`` keeps what each one
    took: (ms, keywords), fastest first.
    """

    def __init__(
        self,
        launch: Callable[..., Any],
        configs: Iterable[dict[str, int]],
        device: str,
    ):
        timer = clock(device)
        self.launch = launch
        self.times: list[tuple[float, dict[str, int]]] = []
        failures = []
        for config in configs:
            try:
                launch(**config)
                timer.sync()
                ts = timer.time_each(lambda c=config: launch(**c), 7, timer.flush)
            except Exception as e:  # too large for this machine: another may do
                failures.append(f"{config}: {type(e).__name__}")
                continue
            self.times.append((statistics.median(ts), config))
        if not self.times:
            raise RuntimeError("no configuration runs: " + "; ".join(failures))
        self.times.sort(key=lambda t: t[0])
        self.config = self.times[0][1]

    def __call__(self) -> Any:
        return self.launch(**self.config)


# --- output --------------------------------------------------------------------------
HEAD = tuple("benchmark size who ms +- GB/s TFLOP/s error speed config".split())


def words(config: dict[str, int]) -> str:
    return " ".join(f"{k}={v}" for k, v in config.items())


def show_configs(case: Case) -> str:
    """Every configuration that a contender was tried with, alone and not in turn."""
    lines = []
    for who, fn in case.contenders.items():
        for ms, config in getattr(fn, "times", ()):
            rate = f"{case.flops / ms / 1e9:.3g} TFLOP/s" if case.flops else ""
            rate = rate or f"{case.n_bytes / ms / 1e6:.0f} GB/s"
            lines.append(f"  {who:10} {ms:9.4g} ms  {rate:>13}  {words(config)}")
    return "\n".join(lines)


def line(row: Row) -> tuple[str, ...]:
    return (
        row.name,
        row.size,
        row.who,
        f"{row.ms:.4g}",
        f"{row.spread:.1%}",
        f"{row.gb_per_s:.0f}" if row.gb_per_s else "",
        f"{row.tflop_per_s:.3g}" if row.tflop_per_s else "",
        f"{row.error:.1e}",
        f"{row.speedup:.2f}",
        row.config,
    )


def show(rows: Iterable[Row]) -> str:
    table = [HEAD, *map(line, rows)]
    widths = [max(len(r[i]) for r in table) for i in range(len(HEAD))]
    return "\n".join(
        "  ".join(
            c.ljust(w) if i < 3 or i == len(r) - 1 else c.rjust(w)
            for i, (c, w) in enumerate(zip(r, widths, strict=True))
        ).rstrip()
        for r in table
    )


def save(path: Path, env: dict[str, Any], rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"run": env, "rows": [asdict(r) for r in rows]}, indent=1)
    )


def plot(path: Path, env: dict[str, Any], rows: list[Row]) -> None:
    """One panel per benchmark: throughput over size, a line per contender."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(r.name for r in rows))
    figure, panels = plt.subplots(
        1, len(names), figsize=(5 * len(names), 4), squeeze=False
    )
    for panel, name in zip(panels[0], names, strict=True):
        mine = [r for r in rows if r.name == name]
        sizes = list(dict.fromkeys(r.size for r in mine))
        for who in dict.fromkeys(r.who for r in mine):
            got = {r.size: r for r in mine if r.who == who}
            xs = [i for i, s in enumerate(sizes) if s in got]
            picked = [got[sizes[i]] for i in xs]
            ys = [r.tflop_per_s or r.gb_per_s or 1 / r.ms for r in picked]
            panel.plot(xs, ys, marker="o", label=who)
        first = mine[0]
        unit = "TFLOP/s" if first.tflop_per_s else "GB/s" if first.gb_per_s else "1/ms"
        panel.set_xticks(range(len(sizes)), sizes, rotation=30, ha="right", fontsize=7)
        panel.set_ylim(bottom=0)
        panel.set_ylabel(unit)
        panel.set_title(name)
        panel.legend(fontsize=7)
    figure.suptitle(env.get("gpu") or f"{env['cpu']}, {env['cpus']} CPUs", fontsize=9)
    figure.tight_layout()
    figure.savefig(path)


def run(
    cases: Iterator[Case], device: str, budget_ms: float, configs: bool = False
) -> list[Row]:
    """Measure all cases, printing each as it is done; configs: what each choice took."""
    rows = []
    for case in cases:
        if configs and (text := show_configs(case)):
            print(f"{case.name} {case.size}, one at a time\n{text}", flush=True)
        got = measure(case, device, budget_ms)
        print(show(got) + "\n", flush=True)
        rows += got
    return rows
