"""GLOBAL: a variable of the function around the kernel."""

import tegula
import tegula.language as tl


def make():
    sizes = [1, 2]

    @tegula.jit
    def kernel(x):
        tl.store(x, sizes[0])

    return kernel


def run():
    make().lower("*fp32")


# ----
# global_closure.py:12:21: CompileError[GLOBAL]: variable of the enclosing function 'sizes' cannot be used in a kernel: it is [1, 2], not a tl.constexpr
#         tl.store(x, sizes[0])
#                     ^~~~~
#   help: pass it as an argument, or wrap it: tl.constexpr(..)
