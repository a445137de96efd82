"""ARGUMENT: a helper called with too much."""

import tegula
import tegula.language as tl


@tegula.jit
def helper(a, b):
    return a + b


@tegula.jit
def kernel(x):
    tl.store(x, helper(1.0, 2.0, 3.0))


def run():
    kernel.lower("*fp32")


# ----
# argument_helper_many.py:14:17: CompileError[ARGUMENT]: helper(): it takes 2 arguments, but 3 were given
#     tl.store(x, helper(1.0, 2.0, 3.0))
#                 ^~~~~~~~~~~~~~~~~~~~~
#   help: it is helper(a, b)
