"""TYPE: a where with None."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.arange(0, 16)
    tl.store(x + i, tl.where(i < n, 1.0, None))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_where_none.py:10:42: CompileError[TYPE]: 'where' works on numbers and tensors, not on None
#     tl.store(x + i, tl.where(i < n, 1.0, None))
#                                          ^~~~
#   help: an argument that may be None is tested with 'is not None'; tl.store and functions without a return give None
