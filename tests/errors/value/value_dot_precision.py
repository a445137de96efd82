"""VALUE: an input precision that does not exist."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float32)
    tl.store(x, tl.sum(tl.dot(a, a, input_precision="fp32")))


def run():
    kernel.lower("*fp32")


# ----
# value_dot_precision.py:10:24: CompileError[VALUE]: input_precision must be one of tf32, tf32x3, ieee, bf16x3, bf16x6, not "fp32"
#     tl.store(x, tl.sum(tl.dot(a, a, input_precision="fp32")))
#                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: "ieee" multiplies float32 as it is
