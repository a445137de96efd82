"""SYNTAX: continue."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for i in range(n):
        continue
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_continue.py:10:9: CompileError[SYNTAX]: 'continue' is not part of the kernel language
#         continue
#         ^~~~~~~~
#   help: put the rest of the body into an if
