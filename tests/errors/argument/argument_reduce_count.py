"""ARGUMENT: a combine function of too few parameters."""

import tegula
import tegula.language as tl


@tegula.jit
def add(a, b):
    return a + b


@tegula.jit
def kernel(x):
    i = tl.arange(0, 16)
    a, _ = tl.reduce((i, i), 0, add)
    tl.store(x, a)


def run():
    kernel.lower("*fp32")


# ----
# argument_reduce_count.py:15:33: CompileError[ARGUMENT]: add(): it combines 2 values with 2, so it takes 4 arguments, not 2
#     a, _ = tl.reduce((i, i), 0, add)
#                                 ^~~
