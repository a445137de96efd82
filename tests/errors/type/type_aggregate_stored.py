"""TYPE: a value of a class is not stored whole."""

import tegula
import tegula.language as tl


@tegula.aggregate
class Sum:
    total: tl.tensor


@tegula.jit
def kernel(x, n):
    s = Sum(tl.load(x))
    tl.store(x, s)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_aggregate_stored.py:15:17: CompileError[TYPE]: the value of store must be a number or a tensor, not 's' (a value of the class Sum)
#     tl.store(x, s)
#                 ^
