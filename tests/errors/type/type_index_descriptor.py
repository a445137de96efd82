"""TYPE: a descriptor is indexed."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [16, 16])
    tl.store(y, tl.sum(d[0, 0]))


def run():
    kernel.lower("*fp32", "*fp32", "i32")


# ----
# type_index_descriptor.py:10:24: CompileError[TYPE]: a tensor descriptor of [16, 16] cannot be indexed
#     tl.store(y, tl.sum(d[0, 0]))
#                        ^~~~~~~
#   help: d.load([i, j]) reads the block that starts there
