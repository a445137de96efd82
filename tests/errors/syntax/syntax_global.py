"""SYNTAX: global."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    global count
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_global.py:9:5: CompileError[SYNTAX]: 'global' is not part of the kernel language
#     global count
#     ^~~~~~~~~~~~
#   help: a kernel gives its results by tl.store
