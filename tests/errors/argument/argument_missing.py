"""ARGUMENT: a helper called with too little."""

import tegula
import tegula.language as tl


@tegula.jit
def helper(a, b):
    return a + b


@tegula.jit
def kernel(x):
    tl.store(x, helper(1.0))


def run():
    kernel.lower("*fp32")


# ----
# argument_missing.py:14:17: CompileError[ARGUMENT]: helper(): the argument 'b' is missing
#     tl.store(x, helper(1.0))
#                 ^~~~~~~~~~~
#   help: it is helper(a, b)
