"""SYNTAX: assigning to an attribute."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    x.count = 3
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_attribute.py:9:5: CompileError[SYNTAX]: assigning to an attribute is not part of the kernel language
#     x.count = 3
#     ^~~~~~~
#   help: values do not change: assign to a name, or tl.store to memory
