"""ARGUMENT: a named tuple without one of its fields."""

from typing import NamedTuple

import tegula
import tegula.language as tl


class Pair(NamedTuple):
    a: float
    b: float


@tegula.jit
def kernel(x):
    tl.store(x, Pair(1.0).b)


def run():
    kernel.lower("*fp32")


# ----
# argument_named_tuple.py:16:17: CompileError[ARGUMENT]: Pair(): the field 'b' is missing
#     tl.store(x, Pair(1.0).b)
#                 ^~~~~~~~~
#   help: it is Pair(a, b)
