"""ARGUMENT: bounds of a range by name."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for i in range(start=0, stop=n):
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# argument_range_start.py:9:20: CompileError[ARGUMENT]: range(): it has no parameter 'start'
#     for i in range(start=0, stop=n):
#                    ^~~~~~~
#   help: the bounds have no names: range(start, stop, step)
