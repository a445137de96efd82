"""VALUE: a dot of vectors."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((64,), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, a)))


def run():
    kernel.lower("*fp32")


# ----
# value_dot_rank.py:10:24: CompileError[VALUE]: the first operand of dot must be a block of two or more dimensions, not f16[64]
#     tl.store(x, tl.sum(tl.dot(a, a)))
#                        ^~~~~~~~~~~~
#   help: of two vectors it is tl.sum(a * b), of a matrix and a vector tl.sum(a * v[None, :], axis=1)
