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
# value_constexpr_run_time.py:9:5: CompileError[VALUE]: the value of a tl.constexpr must be known when the kernel is compiled, but it is a run-time value of type i32
#     k: tl.constexpr = n + 1
#     ^~~~~~~~~~~~~~~~~~~~~~~
#   help: pass it as a tl.constexpr parameter of the kernel
