"""STATIC_ASSERT: a sort along a dimension other than the last."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.sort(tl.zeros((16, 16), tl.float32), dim=0)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# static_assert_sort.py:9:9: CompileError[STATIC_ASSERT]: static assertion failed: sort: only along the last dim
#     a = tl.sort(tl.zeros((16, 16), tl.float32), dim=0)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
