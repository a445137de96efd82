"""ARGUMENT: a lambda that cannot combine two elements."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x + tl.arange(0, 64))
    tl.store(x, tl.reduce(v, 0, lambda a: a))


def run():
    kernel.lower("*fp32")


# ----
# argument_lambda_reduce.py:10:33: CompileError[ARGUMENT]: this lambda: it combines 1 value with 1, so it takes 2 arguments, not 1
#     tl.store(x, tl.reduce(v, 0, lambda a: a))
#                                 ^~~~~~~~~~~
