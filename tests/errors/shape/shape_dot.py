"""SHAPE: inner extents that differ."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 32), tl.float16)
    b = tl.zeros((16, 32), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, b)))


def run():
    kernel.lower("*fp32")


# ----
# shape_dot.py:11:24: CompileError[SHAPE]: dot of 'a' f16[16, 32] and 'b' f16[16, 32]: the first has 32 columns, the second 16 rows
#     tl.store(x, tl.sum(tl.dot(a, b)))
#                        ^~~~~~~~~~~~
#   help: [M, K] @ [K, N]; tl.trans(b) swaps the dims of the second
