"""SYNTAX: a set."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    s = {1, 2}
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_set.py:9:9: CompileError[SYNTAX]: a set display is not part of the kernel language
#     s = {1, 2}
#         ^~~~~~
#   help: write a tuple
