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
# value_constexpr_parameter.py:9:32: CompileError[VALUE]: arange's end must be known when the kernel is compiled, but 'N' (an i32 scalar) is known only when it runs
#     return tl.sum(tl.arange(0, N))
#                                ^
#   help: annotate the parameter of kernel(): n: tl.constexpr; or add a run-time offset outside: start + tl.arange(0, N)
#   in block(), inlined from value_constexpr_parameter.py:14
