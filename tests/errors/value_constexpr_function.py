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
# value_constexpr_function.py:14:17: CompileError[VALUE]: an argument of a compile-time function must be known when the kernel is compiled, but it is a run-time value of type i32
#     tl.store(x, log2(n))
#                 ^~~~~~~
#   help: pass it as a tl.constexpr parameter of the kernel
