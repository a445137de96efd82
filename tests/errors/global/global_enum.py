"""GLOBAL: an Enum that is no constexpr."""

import enum

import tegula
import tegula.language as tl


class Mode(enum.Enum):
    FAST = 1


@tegula.jit
def kernel(x, n):
    if n > 3:
        tl.store(x, Mode.FAST.value)


def run():
    kernel.lower("*fp32", "i32")


# ----
# global_enum.py:16:21: CompileError[GLOBAL]: global variable 'Mode' cannot be used in a kernel: it is the class Mode, not a tl.constexpr
#         tl.store(x, Mode.FAST.value)
#                     ^~~~
#   help: kernels know named tuples and @aggregate; of an Enum, or a class of constants, make tl.constexpr(Mode)
