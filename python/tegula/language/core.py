"""Everything that is neither a library function nor under a name of its own."""

from __future__ import annotations

from .aggregates import _aggregate as _aggregate
from .builtin import builtin as builtin
from .debug import *  # noqa: F403
from .external import *  # noqa: F403
from .memory import *  # noqa: F403
from .shape import *  # noqa: F403
from .types import *  # noqa: F403
from .types import _unwrap_if_constexpr as _unwrap_if_constexpr

# The two that have to be spelled out: static analysers must not take Python's own.
from .debug import range as range
from .types import tuple as tuple


def __getattr__(name: str) -> object:
    if name in ("add", "sub", "mul"):  # of math here, of core in Triton
        from . import math

        return getattr(math, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
