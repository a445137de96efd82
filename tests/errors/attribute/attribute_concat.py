"""ATTRIBUTE: torch's name of cat."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    i = tl.arange(0, 4)
    tl.store(x + tl.arange(0, 8), tl.concat((i, i)))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# attribute_concat.py:10:35: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'concat'
#     tl.store(x + tl.arange(0, 8), tl.concat((i, i)))
#                                   ^~~~~~~~~
#   help: here it is tl.cat(a, b)
