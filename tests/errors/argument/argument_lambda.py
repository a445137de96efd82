"""ARGUMENT: a lambda called with too many arguments."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    add = lambda a, *, b=1: a + b
    tl.store(x, add(1.0, 2.0))


def run():
    kernel.lower("*fp32")


# ----
# argument_lambda.py:10:17: CompileError[ARGUMENT]: this lambda: it takes 1 argument, but 2 were given
#     tl.store(x, add(1.0, 2.0))
#                 ^~~~~~~~~~~~~
#   help: it is lambda a, *, b=..: ..
