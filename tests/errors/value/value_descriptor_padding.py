"""VALUE: a padding that does not exist."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    d = tl.make_tensor_descriptor(x, [n], [1], [16], padding_option="one")
    d.store([0], tl.zeros((16,), tl.float32))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_descriptor_padding.py:9:54: CompileError[VALUE]: padding_option must be "zero" or "nan", not "one"
#     d = tl.make_tensor_descriptor(x, [n], [1], [16], padding_option="one")
#                                                      ^~~~~~~~~~~~~~~~~~~~
