"""CONDITION: a ternary on a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.arange(0, 16)
    tl.store(x + i, 1.0 if i < n else 0.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_ternary_block.py:10:21: CompileError[CONDITION]: the condition of 'a if c else b' must be a scalar, not a block of shape [16]
#     tl.store(x + i, 1.0 if i < n else 0.0)
#                     ^~~~~~~~~~~~~~~~~~~~~
#   help: tl.where(i < n, 1.0, 0.0) chooses element by element
