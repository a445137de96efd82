"""STATIC_ASSERT: scales of dot_scaled, turned."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 64), tl.float8e5)
    b = tl.zeros((64, 32), tl.float8e5)
    s = tl.zeros((16, 2), tl.uint8)
    t = tl.zeros((2, 32), tl.uint8)
    c = tl.dot_scaled(a, s, "e5m2", b, t, "e5m2")
    tl.store(x, tl.sum(c))


def run():
    kernel.lower("*fp32")


# ----
# static_assert_scaled_rows.py:13:9: CompileError[STATIC_ASSERT]: static assertion failed: rhs_scale is (2, 32), and rhs has 32 columns: [N, K / 32]
#     c = tl.dot_scaled(a, s, "e5m2", b, t, "e5m2")
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
