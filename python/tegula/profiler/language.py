"""``triton.profiler.language``: scopes inside of kernels.

Kernels that name them run; profiles are of whole launches here, which a warning says once
at the line. Events and buffers, which a kernel would hold in its registers, are not there:
their names are an AttributeError that says so.
"""

from __future__ import annotations

from tegula.jit import jit
from tegula.language.core import constexpr
from tegula.language.debug import _warn


def __getattr__(name: str) -> object:
    why = "scopes are all there is, and profiles are of whole launches"
    raise AttributeError(f"tegula.profiler.language has no {name}: {why}", name=name)


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
