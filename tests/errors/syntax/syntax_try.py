"""SYNTAX: try."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    try:
        tl.store(x, 1.0)
    except ValueError:
        pass


def run():
    kernel.lower("*fp32")


# ----
# syntax_try.py:9:5: CompileError[SYNTAX]: 'try' is not part of the kernel language
#     try:
#     ^~~~
#   help: nothing raises in a kernel
