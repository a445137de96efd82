"""SYNTAX: a helper with **kwargs."""

import tegula
import tegula.language as tl


@tegula.jit
def helper(a, **options):
    return a


@tegula.jit
def kernel(x):
    tl.store(x, helper(1.0, b=2.0))


def run():
    kernel.lower("*fp32")


# ----
# syntax_kwargs.py:14:17: CompileError[SYNTAX]: a parameter '**kwargs' is not part of the kernel language
#     tl.store(x, helper(1.0, b=2.0))
#                 ^~~~~~~~~~~~~~~~~~
#   help: name the parameters of helper()
