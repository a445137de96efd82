"""VALUE: a block size that an assignment made a tensor."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, N: tl.constexpr):
    half = N // 2
    tl.store(x, tl.sum(tl.arange(0, half)))


def run():
    kernel.lower("*fp32", N=64)


# ----
# value_constexpr_computed.py:10:37: CompileError[VALUE]: arange's end must be known when the kernel is compiled, but 'half' (an i32 scalar) is known only when it runs
#     tl.store(x, tl.sum(tl.arange(0, half)))
#                                     ^~~~
#   help: assigning a constant to a name makes a tensor of it; half: tl.constexpr = .. keeps it a constant
