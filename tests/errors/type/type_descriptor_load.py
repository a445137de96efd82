"""TYPE: tl.load of a descriptor."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [16, 16])

    tl.store(x, tl.sum(tl.load(d)))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_descriptor_load.py:11:24: CompileError[TYPE]: write desc.load(offsets, ..) with a tensor descriptor
#     tl.store(x, tl.sum(tl.load(d)))
#                        ^~~~~~~~~~
