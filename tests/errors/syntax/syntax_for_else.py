"""SYNTAX: else of a loop."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for i in range(n):
        tl.store(x + i, 1.0)
    else:
        tl.store(x, 2.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_for_else.py:12:9: CompileError[SYNTAX]: 'else' of a loop that is not unrolled is not part of the kernel language
#         tl.store(x, 2.0)
#         ^~~~~~~~~~~~~~~~
#   help: set a flag before the break and test it after the loop; tl.static_range(..) may have an 'else'
