"""TYPE: the sign of a value of a class."""

import tegula
import tegula.language as tl


@tegula.aggregate
class Sum:
    total: tl.tensor


@tegula.jit
def kernel(x, n):
    s = -Sum(tl.load(x))
    tl.store(x, s.total)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_aggregate_negative.py:14:9: CompileError[TYPE]: the class Sum has no operator '-'
#     s = -Sum(tl.load(x))
#         ^~~~~~~~~~~~~~~~
#   help: @tegula.jit def __neg__(self) in the class Sum says what it is
