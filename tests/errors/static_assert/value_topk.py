"""VALUE: more than there are."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.topk(tl.zeros((16,), tl.float32), 17)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# value_topk.py:9:9: CompileError[STATIC_ASSERT]: static assertion failed: topk: k must be 1 to the length of the dim
#     a = tl.topk(tl.zeros((16,), tl.float32), 17)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
