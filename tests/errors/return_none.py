"""RETURN: a helper that forgets a value."""

import tegula
import tegula.language as tl


@tegula.jit
def pick(n):
    if n > 3:
        return 1.0


@tegula.jit
def kernel(x, n):
    tl.store(x, pick(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# return_none.py:10:9: CompileError[RETURN]: pick() returns f32 here and None elsewhere
#         return 1.0
#         ^~~~~~~~~~
#   help: every return of a function gives the same type; a function that ends without one returns None
#   in pick(), inlined from return_none.py:15
