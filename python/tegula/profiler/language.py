"""``triton.profiler.language``: scopes inside of kernels.

Kernels that name them run; profiles are of whole launches here, which a warning says once
at the line. Events, which a kernel would hold in its registers, are not there.
"""

from __future__ import annotations

from tegula.jit import jit
from tegula.language.core import constexpr
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
