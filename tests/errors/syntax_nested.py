"""SYNTAX: a nested function."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    def inner(y):
        return y

    tl.store(x, inner(1.0))


def run():
    kernel.lower("*fp32")


# ----
# syntax_nested.py:9:5: CompileError[SYNTAX]: a nested function is not part of the kernel language
#     def inner(y):
#     ^~~~~~~~~~~~~
#   help: define it outside, decorated with @jit
