"""SYNTAX: assigning to an element."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((64,), tl.float32)
    a[3] = 1.0
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# syntax_element.py:10:5: CompileError[SYNTAX]: assigning to an element is not part of the kernel language
#     a[3] = 1.0
#     ^~~~
#   help: blocks are values: tl.where(index == i, value, x) is x with another element
