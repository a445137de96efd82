"""SHAPE: inside a helper, with the chain of calls."""

import tegula
import tegula.language as tl


@tegula.jit
def add(a, b):
    return a + b


@tegula.jit
def helper(a, b):
    return add(a, b)


@tegula.jit
def kernel(x):
    a = tl.zeros((64, 32), tl.float32)
    b = tl.arange(0, 64)
    tl.store(x, tl.sum(helper(a, b)))


def run():
    kernel.lower("*fp32")


# ----
# shape_inlined.py:9:12: CompileError[SHAPE]: cannot broadcast 'a' (f32[64, 32]) with 'b' (i32[64]): their last dimensions are 32 and 64
#     return a + b
#            ^~~~~
#   help: b[:, None] has the shape [64, 1], which stretches to [64, 32]
#   in add(), inlined from shape_inlined.py:14
#   in helper(), inlined from shape_inlined.py:21
