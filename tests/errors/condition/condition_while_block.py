"""CONDITION: a while on a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.arange(0, 16)
    while i < n:
        i += 1


def run():
    kernel.lower("*fp32", "i32")


# ----
# condition_while_block.py:10:11: CompileError[CONDITION]: the condition of a while must be a scalar, not a block of shape [16]
#     while i < n:
#           ^~~~~
#   help: tl.max(condition.to(tl.int32), 0) != 0 asks whether any of them is true
