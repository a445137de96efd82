"""TYPE: an operator that a class of values does not define."""

import tegula
import tegula.language as tl


@tegula.aggregate
class Sum:
    total: tl.tensor


@tegula.jit
def kernel(x, n):
    s = Sum(tl.load(x))
    s += n
    tl.store(x, s.total)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_aggregate_operator.py:15:5: CompileError[TYPE]: the class Sum has no operator '+'
#     s += n
#     ^~~~~~
#   help: @tegula.jit def __add__(self, other) in the class Sum says what it is
