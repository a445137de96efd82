"""VALUE: an offset that is no list."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    d = tl.make_tensor_descriptor(x, [n], [1], [16])
    tl.store(x, tl.sum(d.load(n)))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_descriptor_offset_list.py:10:31: CompileError[VALUE]: load needs one offset for each of 1 dimension, not an i32 scalar
#     tl.store(x, tl.sum(d.load(n)))
#                               ^
#   help: offsets are a list, one for each dimension: [i, j]
