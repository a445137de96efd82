"""TYPE: max gives two values, which are stored at once."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    m = tl.max(tl.load(x + tl.arange(0, 16)), axis=0, return_indices=True)
    tl.store(y, m)


def run():
    kernel.lower("*fp32", "*fp32", "i32")


# ----
# type_store_tuple.py:10:17: CompileError[TYPE]: the value of store must be a number or a tensor, not 'm' (the tuple (f32, i32))
#     tl.store(y, m)
#                 ^
#   help: a, b = t unpacks a tuple, t[0] is its first element
