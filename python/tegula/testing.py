"""Measuring and comparing: what tests and benchmarks of kernels need."""

from __future__ import annotations

import functools
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from . import runtime as runtime  # Triton's benchmarks find ``runtime.driver`` here
from .reports import Benchmark, Mark, perf_report

__all__ = [
    "Benchmark",
    "Mark",
    "assert_close",
    "clock",
    "default_device",
    "do_bench",
    "do_bench_cudagraph",
    "do_bench_cudagraph_proton",
    "do_bench_proton",
    "perf_report",
    "to_numpy",
]

_PEAKS = (
    "cuda_memcheck",
    "get_dram_gbps",
    "get_max_simd_tflops",
    "get_max_tensorcore_tflops",
    "nvsmi",
    "set_gpu_clock",
)


def __getattr__(name: str) -> Any:
    if name in _PEAKS:
        from tegula import peaks

        return getattr(peaks, name)
    from tegula.compat.later import find

    return find(__name__, name)


# Larger than the last-level cache of every GPU we know of (H200: 60 MB), and than the
# share of a CPU's that one socket's cores reach.
_FLUSH_BYTES = 256 << 20


# --- comparing -----------------------------------------------------------------------
def to_numpy(x: Any) -> Any:
    """x as a NumPy array; types NumPy lacks (bfloat16, float8) become float32.

    >>> import torch
    >>> str(tegula.testing.to_numpy(torch.ones(2, dtype=torch.bfloat16)).dtype)
    'float32'
    """
    import numpy as np

    if type(x).__module__.partition(".")[0] == "torch":
        x = x.detach().cpu()
        if x.is_floating_point() and str(x.dtype) not in (
            "torch.float16",
            "torch.float32",
            "torch.float64",
        ):
            x = x.float()
        return x.numpy()
    if hasattr(x, "get") and type(x).__module__.partition(".")[0] == "cupy":
        return x.get()
    return np.asarray(x)


def assert_close(
    x: Any,
    y: Any,
    atol: float | Callable[[Any], float] | None = None,
    rtol: float | Callable[[Any], float] | None = None,
    err_msg: str = "",
) -> None:
    """Raise AssertionError unless ``|x - y| <= atol + rtol * |y|`` everywhere.

    x is what was computed, y what was expected; NaN equals NaN. The message says how
    many elements differ, where the worst one is, and what stands there.
    Defaults are Triton's: atol 1e-2, rtol 0. Either may be a function of x's dtype.

    >>> x = np.arange(4, dtype=np.float32)
    >>> tegula.testing.assert_close(x + 0.001, x) is None
    True
    >>> def message():
    ...     try:
    ...         tegula.testing.assert_close(x + 0.001, x, atol=1e-4)
    ...     except AssertionError as e:
    ...         return str(e).partition(":")[0]
    >>> "4 of 4" in message()
    True
    """
    import numpy as np

    x, y = to_numpy(x), to_numpy(y)
    atol = 1e-2 if atol is None else atol(x.dtype) if callable(atol) else atol
    rtol = 0.0 if rtol is None else rtol(x.dtype) if callable(rtol) else rtol
    head = f"{err_msg}\n" if err_msg else ""
    if x.shape != y.shape and x.size != 1 and y.size != 1:
        raise AssertionError(f"{head}shape {list(x.shape)}, expected {list(y.shape)}")
    if x.dtype == y.dtype and x.dtype.kind in "iub" and not atol and not rtol:
        bad = x != y  # exact also where float64 could not tell them apart
        gap = np.abs(x.astype(np.float64) - y.astype(np.float64))
    else:
        wide = np.complex128 if "c" in (x.dtype.kind, y.dtype.kind) else np.float64
        a, b = np.broadcast_arrays(x.astype(wide), y.astype(wide))
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.abs(a - b)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            bad = ~(same | (gap <= atol + rtol * np.abs(b)))
    n_bad = int(np.count_nonzero(bad))
    if not n_bad:
        return
    x, y, gap, bad = np.broadcast_arrays(x, y, gap, bad)
    # The worst: a NaN or infinity that should not be there before any finite gap.
    rank = np.where(bad, np.where(np.isfinite(gap), gap, np.inf), -1.0)
    worst = np.unravel_index(int(np.argmax(rank)), rank.shape)
    first = np.unravel_index(int(np.argmax(bad)), bad.shape)
    lines = [
        f"{head}{n_bad} of {bad.size} elements differ (atol={atol:g}, rtol={rtol:g})"
    ]
    for word, at in (("first", first), ("worst", worst)):
        where = "[" + ", ".join(str(int(i)) for i in at) + "]"
        lines.append(
            f"  {word} {where}: {x[at]}, expected {y[at]}, off by {gap[at]:.3g}"
        )
    raise AssertionError("\n".join(lines))


# --- clocks --------------------------------------------------------------------------
class Clock(Protocol):
    """Times calls on one machine."""

    def flush(self) -> None:
        """Push what the last call left out of the caches."""

    def sync(self) -> None:
        """Wait until the machine is idle."""

    def time_each(
        self, fn: Callable[[], Any], n: int, before: Callable[[], Any]
    ) -> list[float]:
        """Milliseconds of each of n calls; before() runs ahead of each, untimed."""


class CpuClock:
    """Wall clock. Calls run to their end, so there is nothing to wait for."""

    def __init__(self) -> None:
        self._buffer: bytearray | None = None
        self._zeros = bytes(1 << 20)

    def flush(self) -> None:
        if self._buffer is None:
            self._buffer = bytearray(_FLUSH_BYTES)
        view = memoryview(self._buffer)
        for at in range(0, _FLUSH_BYTES, len(self._zeros)):
            view[at : at + len(self._zeros)] = self._zeros

    def sync(self) -> None:
        pass

    def time_each(
        self, fn: Callable[[], Any], n: int, before: Callable[[], Any]
    ) -> list[float]:
        times = []
        for _ in range(n):
            before()
            start = time.perf_counter_ns()
            fn()
            times.append((time.perf_counter_ns() - start) / 1e6)
        return times


class TorchClock:
    """CUDA events on torch's current stream."""

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._buffer: Any = None

    def flush(self) -> None:
        if self._buffer is None:
            # The first to ask may be in torch.inference_mode(): a tensor of that mode could
            # not be written to by anybody outside of it, later.
            with self._torch.inference_mode(False):
                self._buffer = self._torch.empty(
                    _FLUSH_BYTES // 4, dtype=self._torch.int32, device="cuda"
                )
        self._buffer.zero_()

    def sync(self) -> None:
        self._torch.cuda.synchronize()

    def time_each(
        self, fn: Callable[[], Any], n: int, before: Callable[[], Any]
    ) -> list[float]:
        event = functools.partial(self._torch.cuda.Event, enable_timing=True)
        pairs = [(event(), event()) for _ in range(n)]
        for start, end in pairs:
            before()
            start.record()
            fn()
            end.record()
        self.sync()
        return [start.elapsed_time(end) for start, end in pairs]


class CupyClock:
    """CUDA events on cupy's current stream."""

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy
        self._buffer: Any = None

    def flush(self) -> None:
        if self._buffer is None:
            self._buffer = self._cupy.empty(_FLUSH_BYTES // 4, dtype="int32")
        self._buffer.fill(0)

    def sync(self) -> None:
        self._cupy.cuda.runtime.deviceSynchronize()

    def time_each(
        self, fn: Callable[[], Any], n: int, before: Callable[[], Any]
    ) -> list[float]:
        cuda = self._cupy.cuda
        pairs = [(cuda.Event(), cuda.Event()) for _ in range(n)]
        for start, end in pairs:
            before()
            start.record()
            fn()
            end.record()
        self.sync()
        return [float(cuda.get_elapsed_time(start, end)) for start, end in pairs]


@functools.cache
def clock(device: str) -> Clock:
    """The clock of "cpu" or "cuda"; a GPU's events come from torch, else from cupy.

    >>> type(tegula.testing.clock("cpu")).__name__
    'CpuClock'
    """
    if device == "cpu":
        return CpuClock()
    if device != "cuda":
        raise ValueError(f"no clock for '{device}': cpu or cuda")
    try:
        return TorchClock()
    except ImportError:
        pass
    try:
        return CupyClock()
    except ImportError:
        raise RuntimeError(
            "timing on a GPU needs torch or cupy for its events"
        ) from None


def default_device() -> str:
    """ "cuda" when a loaded torch or cupy sees a GPU, else "cpu". Imports neither.

    >>> tegula.testing.default_device() in ("cpu", "cuda")
    True
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return "cuda"
    cupy = sys.modules.get("cupy")
    if cupy is not None and cupy.cuda.is_available():
        return "cuda"
    return "cpu"


# --- measuring -----------------------------------------------------------------------
def quantile(ordered: Sequence[float], q: float) -> float:
    """The q-quantile of sorted numbers, linear between neighbours."""
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


_MODES: dict[str, Callable[[list[float]], Any]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
    "all": list,
}


def _summary(times: list[float], quantiles: Sequence[float] | None, mode: str) -> Any:
    if quantiles is not None:
        ordered = sorted(times)
        values = [quantile(ordered, q) for q in quantiles]
        return values[0] if len(values) == 1 else values
    return _MODES[mode](times)


_summarize_statistics, _quantile = _summary, quantile  # Triton's names


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    device: str | None = None,
    *,
    percentiles: Sequence[float] | None = None,
    fast_flush: bool = True,
) -> Any:
    """Milliseconds that fn() takes, caches cold.

    warmup and rep are milliseconds to spend, flushes included; each timed call follows a
    write of 256 MB that drives the operands out of the caches. quantiles=[0.5, 0.2, 0.8]
    gives a list, else return_mode picks mean, median, min, max or all. On a GPU the times
    are its own (events on the current stream), on the CPU the wall clock's. device is
    "cuda" or "cpu"; by default a GPU is used when torch or cupy is loaded and sees one.
    percentiles is what Triton 2.0 called quantiles; fast_flush is not looked at.
    Errors: ValueError for another return_mode.

    >>> def work():
    ...     return sum(range(1000))
    >>> tegula.testing.do_bench(work, warmup=1, rep=1, device="cpu") > 0
    True
    >>> low, middle, high = tegula.testing.do_bench(
    ...     work, warmup=1, rep=1, quantiles=[0.2, 0.5, 0.8], device="cpu"
    ... )
    >>> low <= middle <= high
    True
    """
    if return_mode not in _MODES:
        raise ValueError(
            f"return_mode is one of {', '.join(_MODES)}, not '{return_mode}'"
        )
    if not callable(fn):
        raise TypeError("do_bench takes a function: do_bench(lambda: k[grid](..))")
    quantiles = percentiles if quantiles is None else quantiles
    timer = clock(device or default_device())

    def before() -> None:
        for x in grad_to_none or ():
            x.grad = None
        timer.flush()

    fn()
    timer.sync()
    start = time.perf_counter()
    estimate = statistics.fmean(timer.time_each(fn, 5, timer.flush)) or 1e-6
    with_flush = (time.perf_counter() - start) * 1000 / 5
    for _ in range(max(1, min(int(warmup / estimate), 10_000))):
        fn()
    # Beside a short call the flush is what takes long, and it is part of what is spent.
    n = min(rep / estimate, max(10.0, rep / with_flush))
    times = timer.time_each(fn, max(1, int(n)), before)
    return _summary(times, quantiles, return_mode)


def do_bench_cudagraph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """Milliseconds of fn() replayed from a CUDA graph: without any launch overhead.

    The graph holds enough calls to fill rep milliseconds and is replayed ten times.
    Needs torch and a GPU.
    """
    if return_mode not in _MODES:
        raise ValueError(
            f"return_mode is one of {', '.join(_MODES)}, not '{return_mode}'"
        )
    import torch

    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        for x in grad_to_none or ():
            x.detach_()
            x.requires_grad_(True)
            x.grad = None
        timer = TorchClock()
        timer.sync()
        estimate = statistics.fmean(timer.time_each(fn, 5, lambda: None)) or 1e-6
        n = max(1, int(rep / estimate))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(n):
                for x in grad_to_none or ():
                    x.grad = None
                fn()
        timer.sync()
        times = timer.time_each(graph.replay, 10, lambda: None)
    return _summary([t / n for t in times], quantiles, return_mode)


def do_bench_proton(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    device: str | None = None,
) -> Any:
    """As ``do_bench``: it times by events of the GPU, and needs no profiler for it.

    >>> tegula.testing.do_bench_proton(lambda: None, warmup=1, rep=1, device="cpu") >= 0
    True
    """
    return do_bench(fn, warmup, rep, grad_to_none, quantiles, return_mode, device)


def do_bench_cudagraph_proton(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """As ``do_bench_cudagraph``, for the same reason."""
    return do_bench_cudagraph(fn, rep, grad_to_none, quantiles, return_mode)
