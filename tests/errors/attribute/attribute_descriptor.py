"""ATTRIBUTE: a method that descriptors do not have."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [16, 16])

    tl.store(x, tl.sum(d.laod([0, 0])))


def run():
    kernel.lower("*fp32", "i32")


# ----
# attribute_descriptor.py:11:24: CompileError[ATTRIBUTE]: a tensor descriptor of [16, 16] has no attribute 'laod'
#     tl.store(x, tl.sum(d.laod([0, 0])))
#                        ^~~~~~
#   help: did you mean 'load'?
