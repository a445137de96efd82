"""VALUE: an element of a scalar."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, n[0])


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_index_scalar.py:9:17: CompileError[TYPE]: 'n' (an i32 scalar) has no elements to index
#     tl.store(x, n[0])
#                 ^~~~
#   help: a scalar takes None alone, for a new dimension
