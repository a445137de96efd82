"""The language at a debugger's prompt: ``p tl.load(x + i)`` while a kernel is stopped.

The functions that ask where the program is, or read memory, do what they do in the kernel;
those of single elements are NumPy's. For the rest blocks are NumPy arrays: ``v.sum()``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tegula import _core, debugger
from tegula.debug_values import Pointer, format_of, show

SAME = dict.fromkeys(("abs", "ceil", "cos", "exp", "exp2", "floor", "log", "log2"), 1)
SAME |= {"sin": 1, "sqrt": 1, "maximum": 2, "minimum": 2, "where": 3}
"""Functions that NumPy has under the same name, and how many operands they have."""


def _load(pointer: Any, mask: Any, other: Any) -> Any:
    """What lies there now; where the mask is false, other or 0."""
    if isinstance(pointer, Pointer):
        kind, at = pointer.kind, np.asarray(int(pointer), np.uint64)
    elif (getattr(pointer, "kind", None) or "").startswith("*"):
        kind, at = pointer.kind[1:], np.asarray(pointer)
    else:
        raise TypeError(f"tl.load needs a pointer, not {pointer!r}")
    at, on = np.broadcast_arrays(at, True if mask is None else np.asarray(mask))
    out: Any = np.full(at.shape, 0 if other is None else other, format_of(kind))
    out[on] = np.frombuffer(_core._debug_load(kind, at[on].tobytes()), out.dtype)
    return show((kind, at.shape, out.tobytes()))


def call(name: str, given: dict[str, Any]) -> Any:
    """tl.NAME(..) with these arguments."""
    args: list[Any] = list(given.values())
    if name == "program_id":
        return np.int32((debugger.program or (0, 0, 0))[int(args[0])])
    if name == "num_programs":
        return np.int32(_core._debug_grid()[int(args[0])])
    if name == "load":
        return _load(given["pointer"], given["mask"], given["other"])
    if name == "arange":
        return np.arange(int(args[0]), int(args[1]), dtype=np.int32)
    if name in ("full", "zeros"):
        value = args[1] if name == "full" else 0
        kind = getattr(args[-1], "name", str(args[-1]))
        return np.full(tuple(args[0]), value, format_of(kind))
    if name in SAME:
        return getattr(np, name)(*args[: SAME[name]])
    if name == "rsqrt":
        return 1 / np.sqrt(args[0])
    raise ValueError(
        f"tl.{name} does not work at a debugger's prompt; blocks are NumPy arrays there"
    )
