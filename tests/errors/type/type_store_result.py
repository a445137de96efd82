"""TYPE: what store gives, used."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    s = tl.store(x, 1)
    tl.store(x, s)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_store_result.py:10:17: CompileError[TYPE]: the value of store must be a number or a tensor, not 's' (None)
#     tl.store(x, s)
#                 ^
#   help: None is what tl.store and functions without a return give
