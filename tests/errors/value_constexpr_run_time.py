"""VALUE: a run-time value as tl.constexpr."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    k: tl.constexpr = n + 1
    tl.store(x, k)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_constexpr_run_time.py:9:5: CompileError[VALUE]: the value of a tl.constexpr must be known when the kernel is compiled, but it (an i32 scalar) is known only when it runs
#     k: tl.constexpr = n + 1
#     ^~~~~~~~~~~~~~~~~~~~~~~
#   help: compute it from literals, shapes and tl.constexpr parameters of the kernel
