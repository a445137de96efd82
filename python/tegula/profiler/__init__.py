"""A profile of launches, with the interface of Triton's proton, on top of launch hooks.

    session = profiler.start("matmul", hook="triton")     # begins matmul.hatchet
    with profiler.scope("layer 1"):
        kernel[grid](...)
    profiler.finalize()                                   # writes it
    python -c "from tegula.profiler import viewer; viewer.show('matmul.hatchet')"

Each kernel is a leaf below the scopes it was launched in, with count, time (ns), and the
numbers that its ``@jit(launch_metadata=...)`` gives. Only our kernels are seen, not what
else runs on a GPU. Times are a GPU's own (torch's events) or, on the CPU, the wall clock's.
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
from tegula.compiler import LazyDict


class Node:
    """A scope or a kernel, and what was measured in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.metrics: dict[str, float] = {}
        self.children: dict[str, Node] = {}

    def child(self, name: str) -> Node:
        return self.children.setdefault(name, Node(name))

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
    """One profile. ``path`` is where it goes."""

    def __init__(self, name: str) -> None:
        self.path = f"{name}.hatchet"
        self.root = Node("ROOT")
        self.active = True
        self.pending: list[tuple[Node, Any, Any]] = []

    def settle(self) -> None:
        """Wait for the GPU, and add what its events say."""
        for node, start, end in self.pending:
            end.synchronize()
            node.add({"time (ns)": start.elapsed_time(end) * 1e6})
        self.pending.clear()


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
        from tegula import driver

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
        for session in self.sessions.values():
            if not session.active:
                continue
            node = session.root
            for scope in [*self.scopes, name]:
                node = node.child(scope)
            node.add({"count": 1, **extra})
            if isinstance(end, int):
                node.add({"time (ns)": end - start})
            else:
                session.pending.append((node, start, end))


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
    """Begin a profile; its number, the first is 0. It goes to name.hatchet.

    The other arguments choose among what Triton's profiler can do; ours does one thing.
    """
    number = _profiler.n_started
    _profiler.n_started += 1
    _profiler.sessions[number] = Session(name or "proton")
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


def finalize(session: int | None = None, output_format: str = "hatchet") -> None:
    """End profiles and write them."""
    if output_format != "hatchet":
        raise ValueError(f"output_format is 'hatchet', not {output_format!r}")
    for number, s in list(_profiler.sessions.items()):
        if session not in (None, number):
            continue
        s.settle()
        with open(s.path, "w") as f:
            json.dump([s.root.as_json(), {}], f)
        del _profiler.sessions[number]
    if not _profiler.sessions:
        knobs.runtime.launch_enter_hook.remove(_profiler.enter)
        knobs.runtime.launch_exit_hook.remove(_profiler.leave)


def enter_scope(name: str, metrics: dict[str, Any] | None = None) -> None:
    """What is launched from here on stands below name."""
    _profiler.scopes.append(name)
    for s in _chosen(None):
        if s.active and metrics:
            node = s.root
            for scope_name in _profiler.scopes:
                node = node.child(scope_name)
            node.add(metrics)


def exit_scope(name: str | None = None, metrics: dict[str, Any] | None = None) -> None:
    """The end of the innermost scope; metrics are added to it."""
    if name is not None and _profiler.scopes[-1:] != [name]:
        raise ValueError(f"the innermost scope is not {name!r}")
    for s in _chosen(None):
        if s.active and metrics:
            node = s.root
            for scope_name in _profiler.scopes:
                node = node.child(scope_name)
            node.add(metrics)
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
