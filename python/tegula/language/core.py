"""Everything that is neither a library function nor under a name of its own."""

from __future__ import annotations

from .aggregates import _aggregate as _aggregate
from .aggregates import aggregate_replace as aggregate_replace
from .builtin import builtin as builtin
from .debug import *  # noqa: F403
from .external import *  # noqa: F403
from .memory import *  # noqa: F403
from .shape import *  # noqa: F403
from .types import *  # noqa: F403
from .types import _unwrap_if_constexpr as _unwrap_if_constexpr
from .types import _unwrap_iterable as _unwrap_iterable
from .types import _unwrap_shape as _unwrap_shape

# The two that have to be spelled out: static analysers must not take Python's own.
from .debug import range as range
from .types import tuple as tuple


# Functions that Triton defines in core: where they are here.
_ELSEWHERE = {
    **dict.fromkeys(("add", "sub", "mul", "maximum", "minimum"), "math"),
    **dict.fromkeys(("clamp", "where"), "math"),
    **dict.fromkeys(("associative_scan", "reduce"), "reduction"),
    "dot_scaled": "scaled",
}


def __getattr__(name: str) -> object:
    if name in ("get_primitive_bitwidth", "validate_block_shape"):
        from tegula.compat import utils

        return getattr(utils, name)
    if name in ("base_type", "base_value"):  # not in tl itself
        from . import types

        return getattr(types, f"_{name}")
    if name == "must_use_result":
        import tegula

        return tegula.must_use_result
    if name in ("tensor_descriptor_base", "tensor_descriptor_base_type"):
        return globals()[name.replace("_base", "")]
    if name in _ELSEWHERE:
        import importlib

        return getattr(importlib.import_module(f"..{_ELSEWHERE[name]}", __name__), name)
    from tegula.compat.later import find

    return find(__name__, name)
