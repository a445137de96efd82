"""SYNTAX: del."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    y = tl.load(x)
    del y
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_del.py:10:5: CompileError[SYNTAX]: 'del' is not part of the kernel language
#     del y
#     ^~~~~
#   help: leave it out: names end with the kernel
