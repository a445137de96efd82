"""CONDITION: an if on a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.arange(0, 64)
    if i < n:
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# condition_block.py:10:8: CompileError[CONDITION]: the condition of an if must be a scalar, not a block of shape [64]
#     if i < n:
#        ^~~~~
#   help: tl.where(condition, a, b) chooses element by element, mask= of tl.load and tl.store leaves elements out
