"""GLOBAL: a Python function."""

import tegula
import tegula.language as tl


def plain(x):
    return x + 1


@tegula.jit
def kernel(x):
    tl.store(x, plain(3))


def run():
    kernel.lower("*fp32")


# ----
# global_function.py:13:17: CompileError[GLOBAL]: global variable 'plain' cannot be used in a kernel: it is the Python function plain(), not a tl.constexpr
#     tl.store(x, plain(3))
#                 ^~~~~
#   help: decorate it with @jit, or with @constexpr_function when it computes constants
