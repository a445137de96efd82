"""SYNTAX: a lambda."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    f = lambda y: y + 1
    tl.store(x, f(1.0))


def run():
    kernel.lower("*fp32")


# ----
# syntax_lambda.py:9:9: CompileError[SYNTAX]: a lambda is not part of the kernel language
#     f = lambda y: y + 1
#         ^~~~~~~~~~~~~~~
#   help: define a function outside, decorated with @jit
