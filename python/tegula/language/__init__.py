"""The kernel language: what may be written in a function under ``@jit``.

import tegula as triton
import tegula.language as tl
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import core as core
from .builtin import _notice
from . import math as math
from .core import *  # noqa: F403
from .math import *  # noqa: F403
from .standard import *  # noqa: F403
from .reduction import *  # noqa: F403
from .scaled import dot_scaled as dot_scaled

# isort: split
from . import random as random
from . import standard as standard
from . import target_info as target_info
from .random import (
    pair_uniform_to_normal as pair_uniform_to_normal,
    philox as philox,
    philox_impl as philox_impl,
    rand as rand,
    rand4x as rand4x,
    randint as randint,
    randint4x as randint4x,
    randn as randn,
    randn4x as randn4x,
    uint_to_uniform_float as uint_to_uniform_float,
)


if TYPE_CHECKING:
    from . import extra as extra
else:

    def __getattr__(name: str) -> Any:
        # Two hundred functions that few kernels need.
        # libdevice stood here, and was math, before Triton 3.
        if name in ("extra", "libdevice"):
            import importlib

            extra = importlib.import_module(".extra", __name__)
            return extra if name == "extra" else extra.libdevice
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _give_methods() -> None:
    """dir(tl.tensor), help(tl.tensor.sum) and hasattr say what kernels have: a method is
    the function of its name, whose first operand is the tensor."""
    from ._members import MEMBERS

    here = globals()
    for name in MEMBERS:
        setattr(here["tensor"], name, here["cast" if name == "to" else name])


if not TYPE_CHECKING:
    _give_methods()
del _give_methods

# What those modules import for themselves came along: tl.<Tab> shows the language alone.
for _name in (
    *("Any", "Callable", "Iterable", "Iterator", "Literal", "Sequence", "TypeAlias"),
    *("TypeVar", "TYPE_CHECKING", "annotations", "outside", "overload"),
):
    globals().pop(_name, None)
del _name
_notice(__name__)
del _notice
