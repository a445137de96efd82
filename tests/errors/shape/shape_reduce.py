"""SHAPE: a reduction of two blocks of two shapes."""

import tegula
import tegula.language as tl


@tegula.jit
def first(a, b, c, d):
    return a, b


@tegula.jit
def kernel(x):
    a, _ = tl.reduce((tl.arange(0, 16), tl.arange(0, 32)), 0, first)
    tl.store(x, a)


def run():
    kernel.lower("*fp32")


# ----
# shape_reduce.py:14:12: CompileError[SHAPE]: reduce needs blocks of one shape: the shape [16] and the shape [32]
#     a, _ = tl.reduce((tl.arange(0, 16), tl.arange(0, 32)), 0, first)
#            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
