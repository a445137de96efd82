"""SYNTAX: a kernel with *args."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, *rest):
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# syntax_vararg.py:8:1: CompileError[SYNTAX]: a kernel's parameter with '*' is not part of the kernel language
# def kernel(x, *rest):
# ^
#   help: name each parameter, or take a tuple: kernel[grid](x, (a, b))
