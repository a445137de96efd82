"""RETURN: a helper that returns a value and nothing."""

import tegula
import tegula.language as tl


@tegula.jit
def pick(n):
    if n > 3:
        return 1.0
    return


@tegula.jit
def kernel(x, n):
    tl.store(x, pick(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# return_none.py:11:5: CompileError[RETURN]: pick() returns None here and f32 elsewhere
#     return
#     ^~~~~~
#   help: every return of a function gives the same type; one without a value gives None
#   in pick(), inlined from return_none.py:16
