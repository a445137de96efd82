"""TYPE: a method without its parentheses."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    v = tl.load(x + tl.arange(0, 16))
    tl.store(x, v.sum)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_method_not_called.py:10:17: CompileError[TYPE]: the value of store must be a number or a tensor, not 'v.sum' (a method)
#     tl.store(x, v.sum)
#                 ^~~~~
#   help: call it: v.sum(..)
