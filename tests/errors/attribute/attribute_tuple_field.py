"""ATTRIBUTE: a field of a named tuple by another name."""

from typing import NamedTuple

import tegula
import tegula.language as tl


class Pair(NamedTuple):
    first: tl.tensor
    second: tl.tensor


@tegula.jit
def kernel(x, n):
    s = Pair(1.0, n)
    tl.store(x, s.frist)


def run():
    kernel.lower("*fp32", "i32")


# ----
# attribute_tuple_field.py:17:17: CompileError[ATTRIBUTE]: the Pair (f32, i32) has no attribute 'frist'
#     tl.store(x, s.frist)
#                 ^~~~~~~
#   help: did you mean 'first'?
