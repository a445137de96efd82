"""VALUE: a last stride that is not 1."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    d = tl.make_tensor_descriptor(x, [n, n], [1, n], [16, 16])
    d.store([0, 0], tl.zeros((16, 16), tl.float32))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_descriptor_stride.py:9:46: CompileError[VALUE]: the last stride of a tensor descriptor must be the constant 1
#     d = tl.make_tensor_descriptor(x, [n, n], [1, n], [16, 16])
#                                              ^~~~~~
#   help: write the constant 1 as the last stride
