"""RETURN: a helper that returns two types."""

import tegula
import tegula.language as tl


@tegula.jit
def pick(n):
    if n > 3:
        return 1
    return 2.0


@tegula.jit
def kernel(x, n):
    tl.store(x, pick(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# return_types.py:11:5: CompileError[RETURN]: pick() returns f32 here and i32 elsewhere
#     return 2.0
#     ^~~~~~~~~~
#   help: every return of a function gives the same type; one without a value gives None
#   in pick(), inlined from return_types.py:16
