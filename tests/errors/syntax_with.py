"""SYNTAX: with."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    with open("f") as f:
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# syntax_with.py:9:5: CompileError[SYNTAX]: 'with' is not part of the kernel language
#     with open("f") as f:
#     ^~~~~~~~~~~~~~~~~~~~
