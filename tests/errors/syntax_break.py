"""SYNTAX: break."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for i in range(n):
        if i > 3:
            break
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_break.py:11:13: CompileError[SYNTAX]: 'break' is not part of the kernel language
#             break
#             ^~~~~
#   help: make it part of a while's condition
