"""TYPE: a histogram of floats."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    h = tl.histogram(tl.zeros((64,), tl.float32), 16)
    tl.store(x, tl.sum(h))


def run():
    kernel.lower("*fp32")


# ----
# type_histogram_float.py:9:9: CompileError[TYPE]: histogram takes integers, not f32[64]
#     h = tl.histogram(tl.zeros((64,), tl.float32), 16)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: convert first: x.to(tl.int32)
