"""VALUE: a run-time value for a constexpr parameter."""

import tegula
import tegula.language as tl


@tegula.jit
def block(N: tl.constexpr):
    return tl.sum(tl.arange(0, N))


@tegula.jit
def kernel(x, n):
    tl.store(x, block(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_constexpr_parameter.py:14:17: CompileError[VALUE]: the argument 'N' of block() must be known when the kernel is compiled, but it is a run-time value of type i32
#     tl.store(x, block(n))
#                 ^~~~~~~~
#   help: pass it as a tl.constexpr parameter of the kernel
