"""VALUE: a product of halves as integers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, a, out_dtype=tl.int32)))


def run():
    kernel.lower("*fp32")


# ----
# value_dot_out_int.py:10:24: CompileError[VALUE]: dot of f16 with out_dtype=int32
#     tl.store(x, tl.sum(tl.dot(a, a, out_dtype=tl.int32)))
#                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: out_dtype=tl.float32, and .to(tl.int32) after
