"""VALUE: rows of a block below 16 bytes."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [16, 2])
    d.store([0, 0], tl.zeros((16, 2), tl.float32))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_descriptor_bytes.py:9:54: CompileError[VALUE]: the last extent of a descriptor's block spans at least 16 bytes
#     d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [16, 2])
#                                                      ^~~~~~~
#   help: of float32 these are 4 elements
