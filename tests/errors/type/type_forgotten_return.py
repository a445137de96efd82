"""TYPE: a helper without a return."""

import tegula
import tegula.language as tl


@tegula.jit
def helper(a):
    a + 1


@tegula.jit
def kernel(x, y):
    tl.store(x, helper(tl.load(x)))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_forgotten_return.py:14:17: CompileError[TYPE]: the value of store must be a number or a tensor, not 'helper(tl.load(x))' (None)
#     tl.store(x, helper(tl.load(x)))
#                 ^~~~~~~~~~~~~~~~~~
#   help: None is what tl.store and functions without a return give
