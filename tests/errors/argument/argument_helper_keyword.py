"""ARGUMENT: a misspelt keyword of a helper."""

import tegula
import tegula.language as tl


@tegula.jit
def helper(a, scale):
    return a * scale


@tegula.jit
def kernel(x):
    tl.store(x, helper(1.0, scael=2.0))


def run():
    kernel.lower("*fp32")


# ----
# argument_helper_keyword.py:14:29: CompileError[ARGUMENT]: helper(): it has no parameter 'scael'
#     tl.store(x, helper(1.0, scael=2.0))
#                             ^~~~~~~~~
#   help: did you mean 'scale'?
