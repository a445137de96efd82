"""STATIC_ASSERT: dot_scaled whose two scales are of groups of different size."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 64), tl.float8e5)
    b = tl.zeros((64, 32), tl.float8e5)
    s = tl.zeros((16, 4), tl.uint8)
    t = tl.zeros((32, 2), tl.uint8)
    c = tl.dot_scaled(a, s, "e5m2", b, t, "e5m2")
    tl.store(x, tl.sum(c))


def run():
    kernel.lower("*fp32")


# ----
# static_assert_scaled_groups.py:13:9: CompileError[STATIC_ASSERT]: static assertion failed: groups of 16 elements of lhs share a scale, and of 32 of rhs: [M, K / 32] and [N, K / 32]
#     c = tl.dot_scaled(a, s, "e5m2", b, t, "e5m2")
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
