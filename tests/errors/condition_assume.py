"""CONDITION: an assumption about a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.assume(tl.arange(0, 16) < n)
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# condition_assume.py:9:5: CompileError[CONDITION]: an assumption must be a scalar, not a block of shape [16]
#     tl.assume(tl.arange(0, 16) < n)
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: tl.where(condition, a, b) chooses element by element
