"""TYPE: gather by floats."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16,), tl.float32)
    tl.store(x, tl.sum(tl.gather(a, a, 0)))


def run():
    kernel.lower("*fp32")


# ----
# type_gather_float.py:10:24: CompileError[TYPE]: gather needs integer indices, not f32[16]
#     tl.store(x, tl.sum(tl.gather(a, a, 0)))
#                        ^~~~~~~~~~~~~~~~~~
#   help: convert: index.to(tl.int32)
