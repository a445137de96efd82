"""Creating, reshaping, loading and storing blocks. The bodies are in C."""

from __future__ import annotations

from typing import Any

from .builtin import builtin, outside
from .types import *  # noqa: F403
from .types import CONSTEXPR_0 as CONSTEXPR_0
from .types import _unwrap_if_constexpr as _unwrap_if_constexpr
from .types import dtype, tensor


@builtin
def program_id(axis: int, _semantic: Any = None) -> tensor:
    """Index of this program along a grid axis.

    Shape: a scalar int32. axis: constexpr 0, 1 or 2.
    Errors: CompileError[VALUE] for another axis.
    """
    return outside()


@builtin
def num_programs(axis: int, _semantic: Any = None) -> tensor:
    """Extent of the grid along an axis, as an int32 scalar. axis: constexpr 0, 1 or 2."""
    return outside()


@builtin
def arange(start: int, end: int, _semantic: Any = None) -> tensor:
    """``start, start + 1, .. end - 1`` as an int32 block of shape [end - start].

    Both ends are constexpr; 0 <= start < end, and end - start is a power of two.
    Errors: CompileError[VALUE] otherwise. For n elements take the next power of two and
    a mask: ``tl.arange(0, BLOCK) < n``.
    """
    return outside()


@builtin
def load(pointer: tensor, mask: Any = None, other: Any = None, boundary_check: Any = (),
         padding_option: str = "", cache_modifier: str = "", eviction_policy: str = "",
         volatile: bool = False, _semantic: Any = None) -> tensor:
    """Read memory through a pointer or a block of pointers.

    Shapes: pointer, mask and other broadcast together; the result has their shape.
    Types:  the result has the pointee's type; mask is int1; other is converted.
    Where mask is false nothing is read and the result is other, or 0 without one.
    Hints:  cache_modifier "", ".ca", ".cg", ".cs", ".cv"; eviction_policy "",
            "evict_first", "evict_last".
    """
    return outside()


@builtin
def store(pointer: tensor, value: Any, mask: Any = None, boundary_check: Any = (),
          cache_modifier: str = "", eviction_policy: str = "",
          _semantic: Any = None) -> None:
    """Write memory through a pointer or a block of pointers.

    Shapes: value and mask broadcast to the pointers' shape, which they may not enlarge.
    Types:  value is converted to the pointee's type; mask is int1.
    Where mask is false nothing is written.
    """
    return outside()


@builtin
def device_assert(cond: Any, msg: str = "", mask: Any = None, _semantic: Any = None) -> None:
    """Stop the kernel where cond is false; only in debug builds (``@jit(debug=True)``)."""
    return outside()
