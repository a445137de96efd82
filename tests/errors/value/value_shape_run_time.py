"""VALUE: a shape known only at run time."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    a = tl.zeros((n,), tl.float32)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_shape_run_time.py:9:19: CompileError[VALUE]: element 0 of a shape must be known when the kernel is compiled, but 'n' (an i32 scalar) is known only when it runs
#     a = tl.zeros((n,), tl.float32)
#                   ^
#   help: annotate the parameter of kernel(): n: tl.constexpr
