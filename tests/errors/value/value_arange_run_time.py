"""VALUE: arange up to a run-time value."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x + tl.arange(0, n), 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_arange_run_time.py:9:31: CompileError[VALUE]: arange's end must be known when the kernel is compiled, but 'n' (an i32 scalar) is known only when it runs
#     tl.store(x + tl.arange(0, n), 1.0)
#                               ^
#   help: annotate the parameter of kernel(): n: tl.constexpr; or add a run-time offset outside: start + tl.arange(0, N)
