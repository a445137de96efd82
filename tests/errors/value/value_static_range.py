"""VALUE: an unrolled loop of a run-time length."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for i in tl.static_range(n):
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_static_range.py:9:14: CompileError[VALUE]: the end of the range must be known when the kernel is compiled, but it (an i32 scalar) is known only when it runs
#     for i in tl.static_range(n):
#              ^~~~~~~~~~~~~~~~~~
#   help: annotate the parameter of kernel(): n: tl.constexpr; or range(..) takes run-time ends and is not unrolled
