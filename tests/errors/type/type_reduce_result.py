"""TYPE: a combine function that changes the type."""

import tegula
import tegula.language as tl


@tegula.jit
def mean(a, b):
    return (a + b) / 2


@tegula.jit
def kernel(x):
    tl.store(x, tl.reduce(tl.arange(0, 16), 0, mean))


def run():
    kernel.lower("*fp32")


# ----
# type_reduce_result.py:14:17: CompileError[TYPE]: the combine function of reduce returns f32, expected i32
#     tl.store(x, tl.reduce(tl.arange(0, 16), 0, mean))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: it gets and gives the element types; convert the block before
