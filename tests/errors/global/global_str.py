"""GLOBAL: a text of the module."""

import tegula
import tegula.language as tl

MODE = "fast"


@tegula.jit
def kernel(x):
    if MODE == "fast":
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# global_str.py:11:8: CompileError[GLOBAL]: global variable 'MODE' cannot be used in a kernel: it is the constant str 'fast', not a tl.constexpr
#     if MODE == "fast":
#        ^~~~
#   help: write MODE = tl.constexpr('fast'), or pass it as an argument
