"""VALUE: a compile-time function of a run-time value."""

import tegula
import tegula.language as tl


@tegula.constexpr_function
def log2(n):
    return n.bit_length() - 1


@tegula.jit
def kernel(x, n):
    tl.store(x, log2(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_constexpr_function.py:14:22: CompileError[VALUE]: an argument of log2() must be known when the kernel is compiled, but 'n' (an i32 scalar) is known only when it runs
#     tl.store(x, log2(n))
#                      ^
#   help: annotate the parameter of kernel(): n: tl.constexpr
