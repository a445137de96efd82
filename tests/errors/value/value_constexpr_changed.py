"""VALUE: a constexpr that is added to."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    N: tl.constexpr = 4
    N += 4
    tl.store(x + tl.arange(0, 8), tl.zeros((N,), tl.float32))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# value_constexpr_changed.py:11:45: CompileError[VALUE]: element 0 of a shape must be known when the kernel is compiled, but 'N' (an i32 scalar) is known only when it runs
#     tl.store(x + tl.arange(0, 8), tl.zeros((N,), tl.float32))
#                                             ^
#   help: assigning a constant to a name makes a tensor of it; N: tl.constexpr = .. keeps it a constant
