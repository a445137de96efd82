"""VALUE: one offset for two dimensions."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [16, 16])

    tl.store(x, tl.sum(d.load([0])))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_descriptor_offsets.py:11:31: CompileError[VALUE]: load needs one offset for each of 2 dimensions, not (0,)
#     tl.store(x, tl.sum(d.load([0])))
#                               ^~~
