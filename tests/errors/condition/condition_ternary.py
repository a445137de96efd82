"""CONDITION: a block decides between two values."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x + tl.arange(0, 64))
    v = v if v > 0 else 0.0
    tl.store(x + tl.arange(0, 64), v)


def run():
    kernel.lower("*fp32")


# ----
# condition_ternary.py:10:9: CompileError[CONDITION]: the condition of 'a if c else b' must be a scalar, not a block of shape [64]
#     v = v if v > 0 else 0.0
#         ^~~~~~~~~~~~~~~~~~~
#   help: tl.where(v > 0, v, 0.0) chooses element by element
