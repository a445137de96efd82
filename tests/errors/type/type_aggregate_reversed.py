"""TYPE: a number on the left of a value of a class."""

import tegula
import tegula.language as tl


@tegula.aggregate
class Sum:
    total: tl.tensor


@tegula.jit
def kernel(x, n):
    s = 2 * Sum(tl.load(x))
    tl.store(x, s.total)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_aggregate_reversed.py:14:9: CompileError[TYPE]: the class Sum has no operator '*'
#     s = 2 * Sum(tl.load(x))
#         ^~~~~~~~~~~~~~~~~~~
#   help: @tegula.jit def __rmul__(self, other) in the class Sum says what it is
