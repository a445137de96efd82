"""ARGUMENT: Python's max of one value."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, max(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# argument_max.py:9:17: CompileError[TYPE]: what min and max run over must be a tuple or a range, not a run-time value of type i32
#     tl.store(x, max(n))
#                 ^~~~~~
