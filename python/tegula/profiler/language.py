"""``triton.profiler.language``: scopes inside of kernels.

Kernels that name them run; profiles are of whole launches here, which a warning says once
at the line.
"""

from __future__ import annotations

from typing import Any

from tegula.jit import jit
from tegula.language.aggregates import aggregate
from tegula.language.core import constexpr, static_assert
from tegula.language.debug import _warn


def enable_semantic(semantic_name: str) -> None:
    """Kernels of this frontend have scopes: "triton"; another is a ValueError."""
    if semantic_name != "triton":
        raise ValueError(f"there is no frontend {semantic_name!r} here, only 'triton'")


disable_semantic = enable_semantic


@jit
def record(is_start: constexpr, scope_name: constexpr) -> None:
    """The start or the end of a scope."""
    _warn("scopes inside of kernels are not measured: profiles are of whole launches")


@jit
def enter_scope(name: constexpr) -> None:
    record(True, name)


@jit
def exit_scope(name: constexpr) -> None:
    record(False, name)


@aggregate
class scope:
    """``with scope("name"):`` in a kernel."""

    name: constexpr

    @jit
    def __enter__(self) -> None:
        record(True, self.name)

    @jit
    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        record(False, self.name)


@aggregate
class Event:
    """What ``allocate_event`` gives, for ``start_event`` and ``end_event``."""

    name: constexpr

    def __init__(self, name: constexpr) -> None:
        self.name = name


@jit
def allocate_event(name: constexpr) -> Event:
    return Event(name)


@jit
def record_event(event: Event, is_start: constexpr) -> None:
    """The start or the end of what goes on beside the program."""
    static_assert(isinstance(event, Event), "an event is what allocate_event gives")
    record(is_start, event.name)


@jit
def start_event(event: Event) -> None:
    record_event(event, True)


@jit
def end_event(event: Event) -> None:
    record_event(event, False)
