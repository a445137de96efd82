"""VALUE: a run-time value in an f-string."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.static_assert(False, f"n is {n}")
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_fstring.py:9:37: CompileError[VALUE]: a field of an f-string must be known when the kernel is compiled, but 'n' (an i32 scalar) is known only when it runs
#     tl.static_assert(False, f"n is {n}")
#                                     ^
#   help: annotate the parameter of kernel(): n: tl.constexpr; or tl.device_print("..", n) shows run-time values
