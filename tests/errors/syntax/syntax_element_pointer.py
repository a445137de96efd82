"""SYNTAX: writing to memory as Python writes to a list."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    x[n] = 1.0


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_element_pointer.py:9:5: CompileError[SYNTAX]: assigning to an element is not part of the kernel language
#     x[n] = 1.0
#     ^~~~
#   help: tl.store(p + i, value) writes to memory
