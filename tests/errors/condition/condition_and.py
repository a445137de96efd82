"""CONDITION: an if over elements, with and."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    i = tl.arange(0, 64)
    if i > 3 and i < 9:
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# condition_and.py:10:8: CompileError[CONDITION]: the condition of an if must be a scalar, not a block of shape [64]
#     if i > 3 and i < 9:
#        ^~~~~~~~~~~~~~~
#   help: tl.where(condition, a, b) chooses element by element, mask= of tl.load and tl.store leaves elements out
