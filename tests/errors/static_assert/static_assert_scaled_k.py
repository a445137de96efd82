"""STATIC_ASSERT: dot_scaled of two K."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 32), tl.uint8)
    s = tl.zeros((16, 2), tl.uint8)
    c = tl.dot_scaled(a, s, "e2m1", a, s, "e2m1")
    tl.store(x, tl.sum(c))


def run():
    kernel.lower("*fp32")


# ----
# static_assert_scaled_k.py:11:9: CompileError[STATIC_ASSERT]: static assertion failed: K is 64 of lhs and 32 of rhs: [M, K] @ [K, N]
#     c = tl.dot_scaled(a, s, "e2m1", a, s, "e2m1")
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
