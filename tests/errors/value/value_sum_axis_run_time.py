"""VALUE: an axis known only at run time."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    a = tl.zeros((16, 16), tl.float32)
    tl.store(x + tl.arange(0, 16), tl.sum(a, n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_sum_axis_run_time.py:10:46: CompileError[VALUE]: axis must be known when the kernel is compiled, but 'n' (an i32 scalar) is known only when it runs
#     tl.store(x + tl.arange(0, 16), tl.sum(a, n))
#                                              ^
#   help: annotate the parameter of kernel(): n: tl.constexpr
