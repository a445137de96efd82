"""VALUE: a constant that an assignment made a tensor."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    n = 64
    tl.store(x + tl.arange(0, n), 1.0)


def run():
    kernel.lower("*fp32")


# ----
# value_decayed.py:10:31: CompileError[VALUE]: arange's end must be known when the kernel is compiled, but 'n' (an i32 scalar) is known only when it runs
#     tl.store(x + tl.arange(0, n), 1.0)
#                               ^
#   help: assigning a constant to a name makes a tensor of it; n: tl.constexpr = .. keeps it a constant
