"""SYNTAX: return inside a loop."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for i in range(n):
        if tl.load(x + i) > 3.0:
            return
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_return_loop.py:11:13: CompileError[SYNTAX]: 'return' inside a loop that is not unrolled is not part of the kernel language
#             return
#             ^~~~~~
#   help: set a variable in the loop and return after it
