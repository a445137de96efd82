"""STATIC_ASSERT: a pointer in the place of a seed."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, seed):
    at = tl.arange(0, 4)
    tl.store(x + at, tl.rand(seed, at))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# static_assert_seed.py:10:22: CompileError[STATIC_ASSERT]: static assertion failed: the seed is an integer, not pointer<int32>; tl.load(p) reads one from memory
#     tl.store(x + at, tl.rand(seed, at))
#                      ^~~~~~~~~~~~~~~~~
