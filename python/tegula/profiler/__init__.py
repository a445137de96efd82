"""A profile of launches, with the interface of Triton's proton, on top of launch hooks.

    session = profiler.start("matmul", hook="triton")     # begins matmul.hatchet
    with profiler.scope("layer 1"):
        kernel[grid](...)
    profiler.finalize()                                   # writes it
    python -m tegula.profiler matmul.hatchet              # shows it
    python -m tegula.profiler script.py                   # both for a whole script

Each kernel is a leaf below the scopes it was launched in, with count, time (ns), bytes,
flops, and the numbers that its ``@jit(launch_metadata=...)`` gives. Bytes and flops are
ours where that does not tell them: what the kernel asks memory for, and its arithmetic on
floats. ``start(.., data="trace")`` keeps each launch with its time instead, in a file for
https://ui.perfetto.dev and Chrome's tracing. Only our kernels are seen, not what else runs
on a GPU. Times are a GPU's own (torch's events) or, on the CPU, the wall clock's.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tegula import knobs
from tegula.compat.compiler import LazyDict


class Node:
    """A scope or a kernel, and what was measured in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.metrics: dict[str, float] = {}
        self.children: dict[str, Node] = {}

    def child(self, name: str) -> Node:
        return self.children.setdefault(name, Node(name))

    def below(self, path: list[str]) -> Node:
        node = self
        for name in path:
            node = node.child(name)
        return node

    def add(self, metrics: dict[str, Any]) -> None:
        for key, value in metrics.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                self.metrics[key] = self.metrics.get(key, 0) + value

    def as_json(self) -> dict[str, Any]:
        return {
            "frame": {"name": self.name, "type": "function"},
            "metrics": self.metrics,
            "children": [c.as_json() for c in self.children.values()],
        }


class Session:
    """One profile. It goes to a file of that name; what comes behind the point says how."""

    def __init__(self, name: str, is_trace: bool, begin: Any) -> None:
        self.name = name
        self.is_trace = is_trace
        self.begin = begin  # a time, or an event of a GPU
        self.root = Node("ROOT")
        self.active = True
        self.pending: list[tuple[Node, dict[str, Any] | None, Any, Any]] = []
        self.events: list[dict[str, Any]] = []  # of a trace

    def launched(
        self, path: list[str], extra: dict[str, Any], start: Any, end: Any
    ) -> None:
        node = self.root.below(path)
        node.add({"count": 1, **extra})
        event = None
        if self.is_trace:
            event = {"name": path[-1], "cat": "kernel", "ph": "X", "pid": 0, "tid": 0}
            event["args"] = {"scopes": path[:-1], **extra}
            self.events.append(event)
        self.pending.append((node, event, start, end))
        if isinstance(end, int):
            self.settle()

    def settle(self) -> None:
        """Wait for the GPU, and add what its events say."""
        for node, event, start, end in self.pending:
            ns = _between(start, end)
            node.add({"time (ns)": ns})
            if event is not None:
                event |= {"ts": _between(self.begin, start) / 1e3, "dur": ns / 1e3}
        self.pending.clear()

    def write(self, output_format: str) -> None:
        self.settle()
        kept: Any = [self.root.as_json(), {}]
        if output_format == "chrome_trace":
            kept = {"displayTimeUnit": "ns", "traceEvents": self.events}
        with open(f"{self.name}.{output_format}", "w") as f:
            json.dump(kept, f)


def _between(start: Any, end: Any) -> float:
    """Nanoseconds, of two readings of the clock or two events of a GPU."""
    if isinstance(end, int):
        return end - start
    end.synchronize()
    return float(start.elapsed_time(end) * 1e6)


_counted: dict[Any, dict[str, float]] = {}  # what launches move, by variant and numbers


def work_of(info: LazyDict, told: dict[str, Any]) -> dict[str, float]:
    """bytes and flops of the latest launch, where told says nothing of them."""
    if info.variant is None:
        return {}
    key = info.variant, info.variant._launched
    if key not in _counted:
        if len(_counted) > 4096:  # numbers that never come again
            _counted.clear()
        moved = info.variant._traffic() or dict.fromkeys(_PARTS, 0.0)
        _counted[key] = {
            "bytes": sum(moved[k] for k in _PARTS[:3]),
            "flops": sum(moved[k] for k in _PARTS[3:]),
        }
    return {
        kind: n
        for kind, n in _counted[key].items()
        if not any(k.startswith(kind) for k in told)
    }


_PARTS = ("loaded", "stored", "atomic", "dot_flops", "flops")


class _Profiler:
    sessions: dict[int, Session] = {}
    scopes: list[str] = []
    running: list[tuple[str, Any]] = []
    n_started = 0

    def now(self) -> Any:
        if not self.on_gpu():
            return time.perf_counter_ns()
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    @staticmethod
    def on_gpu() -> bool:
        from tegula.compat import driver

        torch = sys.modules.get("torch")  # whose events tell the time there
        return bool(
            isinstance(driver.active, driver.CudaDriver)
            and torch
            and torch.cuda.is_available()
        )

    def enter(self, info: LazyDict) -> None:
        data = info.get()
        self.running.append((data["name"], self.now()))

    def leave(self, info: LazyDict) -> None:
        data = info.get()
        name, start = self.running.pop()
        end = self.now()
        extra = {
            k: v for k, v in data.items() if k not in ("name", "function", "stream")
        }
        extra |= work_of(info, extra)
        for session in self.sessions.values():
            if session.active:
                session.launched([*self.scopes, name], extra, start, end)


_profiler = _Profiler()


def _chosen(session: int | None) -> list[Session]:
    sessions = _profiler.sessions
    return list(sessions.values()) if session is None else [sessions[session]]


def start(
    name: str | None = None,
    *,
    context: str | None = None,
    data: str | None = None,
    backend: str | None = None,
    mode: Any = None,
    hook: Any = None,
) -> int:
    """Begin a profile; its number, the first is 0.

    data="tree", the default, adds up what is launched below each scope, and goes to
    name.hatchet; "trace" keeps each launch, for name.chrome_trace. The other arguments
    choose among what Triton's profiler can do; ours does one thing.
    """
    if data not in (None, "tree", "trace"):
        raise ValueError(f"data is 'tree' or 'trace', not {data!r}")
    number = _profiler.n_started
    _profiler.n_started += 1
    _profiler.sessions[number] = Session(
        name or "proton", data == "trace", _profiler.now()
    )
    knobs.runtime.launch_enter_hook.add(_profiler.enter)
    knobs.runtime.launch_exit_hook.add(_profiler.leave)
    return number


def activate(session: int | None = None) -> None:
    """Go on measuring."""
    for s in _chosen(session):
        s.active = True


def deactivate(session: int | None = None, flushing: bool = False) -> None:
    """Pause."""
    for s in _chosen(session):
        s.active = False
        s.settle()


def finalize(session: int | None = None, output_format: str = "") -> None:
    """End profiles and write them.

    output_format is "hatchet", also of a trace, or "chrome_trace" of a trace alone.
    """
    if output_format not in ("", "hatchet", "chrome_trace"):
        raise ValueError(
            f"output_format is 'hatchet' or 'chrome_trace', not {output_format!r}"
        )
    for number, s in list(_profiler.sessions.items()):
        if session not in (None, number):
            continue
        if output_format == "chrome_trace" and not s.is_trace:
            raise ValueError('a profile that is to be a trace begins with data="trace"')
        s.write(output_format or ("chrome_trace" if s.is_trace else "hatchet"))
        del _profiler.sessions[number]
    if not _profiler.sessions:
        _counted.clear()
        knobs.runtime.launch_enter_hook.remove(_profiler.enter)
        knobs.runtime.launch_exit_hook.remove(_profiler.leave)


def _add(metrics: dict[str, Any] | None) -> None:
    """To the innermost scope."""
    for s in _chosen(None):
        if s.active and metrics:
            s.root.below(_profiler.scopes).add(metrics)


def enter_scope(name: str, metrics: dict[str, Any] | None = None) -> None:
    """What is launched from here on stands below name."""
    _profiler.scopes.append(name)
    _add(metrics)


def exit_scope(name: str | None = None, metrics: dict[str, Any] | None = None) -> None:
    """The end of the innermost scope; metrics are added to it."""
    if name is not None and _profiler.scopes[-1:] != [name]:
        raise ValueError(f"the innermost scope is not {name!r}")
    _add(metrics)
    _profiler.scopes.pop()


# Triton's profiler tells a scope, which may be of one launch, from a state, which is of all
# that follow; in a tree of calls both are a level.
def enter_state(name: str) -> None:
    """What is launched from here on stands below name."""
    enter_scope(name)


def exit_state() -> None:
    """The end of the innermost state."""
    exit_scope()


class scope:
    """``with scope("layer 1"):`` or ``@scope("layer 1")``."""

    def __init__(self, name: str, metrics: dict[str, Any] | None = None) -> None:
        self.name = name
        self.metrics = metrics

    def __enter__(self) -> scope:
        enter_scope(self.name, self.metrics)
        return self

    def __exit__(self, *_: Any) -> None:
        exit_scope()

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fn(*args, **kwargs)

        return inside


class cpu_timed_scope(scope):
    """A scope with the time of the wall clock, "cpu_time (ns)", too."""

    def __enter__(self) -> scope:
        self._start = time.perf_counter_ns()
        return super().__enter__()

    def __exit__(self, *_: Any) -> None:
        exit_scope(metrics={"cpu_time (ns)": time.perf_counter_ns() - self._start})


class state(scope):
    """``with state("init"):`` or ``@state("init")``."""


DEFAULT_PROFILE_NAME = "proton"


@contextmanager
def profile(name: str | None = None, **kwargs: Any) -> Iterator[int]:
    """``start`` and ``finalize`` around a block."""
    session = start(name, **kwargs)
    try:
        yield session
    finally:
        finalize(session)


def __getattr__(name: str) -> Any:
    from tegula.compat.later import find

    return find(__name__, name)
