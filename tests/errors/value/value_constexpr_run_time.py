"""VALUE: what is called tl.constexpr and has a run-time value, where a constant is needed."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    k: tl.constexpr = n + 1
    i = tl.arange(0, k)
    tl.store(x + i, i)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_constexpr_run_time.py:10:22: CompileError[VALUE]: arange's end must be known when the kernel is compiled, but 'k' (an i32 scalar) is known only when it runs
#     i = tl.arange(0, k)
#                      ^
#   help: add a run-time offset outside: start + tl.arange(0, N)
