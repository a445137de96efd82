"""STATIC_ASSERT: dot_scaled of vectors."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((32,), tl.uint8)
    s = tl.zeros((2,), tl.uint8)
    c = tl.dot_scaled(a, s, "e2m1", a, s, "e2m1")
    tl.store(x, tl.sum(c))


def run():
    kernel.lower("*fp32")


# ----
# static_assert_scaled_rank.py:11:9: CompileError[STATIC_ASSERT]: static assertion failed: dot_scaled multiplies [M, K] by [K, N], not (32,) by (32,)
#     c = tl.dot_scaled(a, s, "e2m1", a, s, "e2m1")
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
