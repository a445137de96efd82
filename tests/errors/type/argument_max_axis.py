"""TYPE: a maximum of two, by the function that reduces one."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.max(tl.arange(0, 16), 0.0))


def run():
    kernel.lower("*fp32", "i32")


# ----
# argument_max_axis.py:9:42: CompileError[TYPE]: axis must be an int, not the constant float 0.0
#     tl.store(x, tl.max(tl.arange(0, 16), 0.0))
#                                          ^~~
#   help: tl.maximum(a, b) takes the larger of two, element by element
