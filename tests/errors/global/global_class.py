"""GLOBAL: a class of the module."""

import tegula
import tegula.language as tl


class Scale:
    value = 2.0


@tegula.jit
def kernel(x):
    tl.store(x, Scale().value)


def run():
    kernel.lower("*fp32")


# ----
# global_class.py:13:17: CompileError[GLOBAL]: global variable 'Scale' cannot be used in a kernel: it is the class Scale, not a tl.constexpr
#     tl.store(x, Scale().value)
#                 ^~~~~
#   help: kernels know named tuples and @aggregate; of an Enum, or a class of constants, make tl.constexpr(Scale)
