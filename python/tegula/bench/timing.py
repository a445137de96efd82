"""Times and errors of a case: contenders in turn, caches cold, medians.

A call on a GPU stands behind a write of 256 MB and a pause of the GPU that is longer than
the host takes to queue the call: what is measured is kernels and what lies between them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tegula import testing
from tegula.bench.cases import Problem

Call = Callable[..., Any]
PAUSE_CYCLES = 2_000_000  # 1 ms of a GPU's clock
MODES = ("forward", "backward")


@dataclass
class Row:
    """One contender on one case, one way."""

    name: str
    group: str
    mode: str  # forward; backward: forward and backward in one call
    who: str
    ms: float = 0.0  # median; 0 where it failed
    spread: float = 0.0  # half the interquartile range / median
    # max |x - reference| / max |reference|, of the worst result
    error: float | None = None
    n_bytes: float = 0.0
    flops: float = 0.0
    why: str = ""  # why there is no time

    @property
    def gb_per_s(self) -> float:
        return self.n_bytes / self.ms / 1e6 if self.ms else 0.0

    @property
    def tflop_per_s(self) -> float:
        return self.flops / self.ms / 1e9 if self.ms else 0.0


# --- a call of a contender ----------------------------------------------------------------
def tuple_of(x: Any) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def is_tensor(x: Any) -> bool:
    return hasattr(x, "requires_grad")


def wants_gradient(x: Any) -> bool:
    return is_tensor(x) and x.requires_grad


def caller(
    fn: Call, inputs: list[Any], upstream: list[Any] | None
) -> Callable[[], Any]:
    """fn alone, or with the gradients of what it is given; both give their results."""
    if not any(is_tensor(x) for x in inputs):
        return lambda: tuple_of(fn(*inputs))
    import torch

    def forward() -> tuple:
        with torch.no_grad():
            return tuple_of(fn(*inputs))

    if upstream is None:
        return forward
    leaves = [x for x in inputs if wants_gradient(x)]

    def both() -> tuple:
        return torch.autograd.grad(tuple_of(fn(*inputs)), leaves, upstream)

    return both


def reference(problem: Problem, upstream: list[Any] | None) -> list[Any] | None:
    """Results and gradients by torch in float64."""
    if not problem.is_exact or not any(is_tensor(x) for x in problem.inputs):
        return None

    def widened(x: Any) -> Any:
        if not is_tensor(x) or not x.is_floating_point():
            return x
        return x.detach().double().requires_grad_(x.requires_grad)

    wide = [widened(x) for x in problem.inputs]
    up = None if upstream is None else [g.double() for g in upstream]
    return [x.detach() for x in caller(problem.theirs, wide, up)()]


def error(got: Any, expected: list[Any] | None) -> float | None:
    if expected is None:
        return None
    worst = 0.0
    for x, y in zip(got, expected, strict=True):
        scale = float(y.abs().amax()) or 1.0
        worst = max(worst, float((x.detach().double() - y).abs().amax()) / scale)
    return worst


def n_bytes(arrays: Any) -> float:
    return float(sum(x.nbytes for x in arrays if hasattr(x, "nbytes")))


# --- the clock ----------------------------------------------------------------------------
class Clock:
    """Milliseconds of calls on one device, one at a time."""

    def __init__(self, device: str) -> None:
        self._clock = testing.clock(device)
        self._pause: Callable[[], Any] = lambda: None
        if device == "cuda":
            import torch

            self._pause = lambda: torch.cuda._sleep(PAUSE_CYCLES)

    def _before(self) -> None:
        self._clock.flush()
        self._pause()

    def times(self, fn: Callable[[], Any], n: int = 1) -> list[float]:
        return self._clock.time_each(fn, n, self._before)

    def sync(self) -> None:
        self._clock.sync()


def measure(
    name: str, group: str, problem: Problem, contenders: dict[str, Call], clock: Clock,
    rounds: int, modes: tuple[str, ...] = MODES,
) -> Iterator[Row]:  # fmt: skip
    """A row for each contender and mode; the first contender must not fail."""
    for mode in modes:
        if mode == "backward" and not any(map(wants_gradient, problem.inputs)):
            return
        yield from _measure(name, group, mode, problem, contenders, clock, rounds)


def _measure(
    name: str, group: str, mode: str, problem: Problem, contenders: dict[str, Call],
    clock: Clock, rounds: int,
) -> Iterator[Row]:  # fmt: skip
    upstream, moved = _upstream(problem, mode)
    wide = reference(problem, upstream)
    work = problem.flops * (1 if upstream is None else 3)
    rows, calls = {}, {}
    for who, fn in contenders.items():
        rows[who] = row = Row(name, group, mode, who, n_bytes=moved, flops=work)
        call = caller(fn, problem.inputs, upstream)
        try:
            row.error = error(call(), wide)
            clock.sync()
        except Exception as e:
            if who == "tegula":
                raise
            row.why = f"{type(e).__name__}: {e}".splitlines()[0][:200]
            continue
        calls[who] = call
    del wide
    for who, ts in in_turn(calls, clock, rounds).items():
        low, rows[who].ms, high = statistics.quantiles(ts, n=4)
        rows[who].spread = (high - low) / 2 / rows[who].ms
    yield from rows.values()


def _upstream(problem: Problem, mode: str) -> tuple[list[Any] | None, float]:
    """Gradients of the results for a backward pass, and the bytes that must move."""
    outs = caller(problem.ours, problem.inputs, None)()
    moved = problem.n_bytes or n_bytes(problem.inputs) + n_bytes(outs)
    if mode == "forward":
        return None, moved
    import torch

    upstream = [torch.randn_like(x) for x in outs]
    leaves = n_bytes(x for x in problem.inputs if wants_gradient(x))
    return upstream, moved + n_bytes(problem.inputs) + n_bytes(upstream) + leaves


def in_turn(
    calls: dict[str, Callable[[], Any]], clock: Clock, rounds: int
) -> dict[str, list[float]]:
    """Everybody once a round, the order reversed from one to the next."""
    times: dict[str, list[float]] = {who: [] for who in calls}
    warm(calls, clock)
    for i in range(rounds):
        for who in list(calls) if i % 2 == 0 else reversed(calls):
            times[who] += clock.times(calls[who])
    return times


def warm(calls: dict[str, Callable[[], Any]], clock: Clock) -> None:
    for fn in calls.values():
        end = time.perf_counter() + 0.02
        while time.perf_counter() < end:
            fn()
        clock.sync()


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Our kernels and torch's on n threads of a CPU; 0 leaves both as they are."""
    from tegula import knobs
    from tegula.bench.contenders import torch_or_none

    torch = torch_or_none()
    before = torch.get_num_threads() if torch is not None else 0
    with knobs.runtime.scope():
        if n:
            knobs.runtime.num_threads = n
            if torch is not None:
                torch.set_num_threads(n)
        try:
            yield
        finally:
            if n and torch is not None:
                torch.set_num_threads(before)
