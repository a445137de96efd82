"""VALUE: a dot of pointers that nobody loaded."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    i = tl.arange(0, 16)
    p = y + i[:, None] * 16 + i[None, :]
    tl.store(x, tl.sum(tl.dot(p, p)))


def run():
    kernel.lower("*fp32", "*fp16")


# ----
# value_dot_pointer.py:11:24: CompileError[VALUE]: the first operand of dot must be a block of two or more dimensions, not ptr<f16>[16, 16]
#     tl.store(x, tl.sum(tl.dot(p, p)))
#                        ^~~~~~~~~~~~
#   help: tl.load it first
