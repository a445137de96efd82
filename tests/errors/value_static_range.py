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
# value_static_range.py:9:14: CompileError[VALUE]: the end of the range must be known when the kernel is compiled, but it is a run-time value of type i32
#     for i in tl.static_range(n):
#              ^~~~~~~~~~~~~~~~~~
#   help: range(..) takes run-time ends and is not unrolled
