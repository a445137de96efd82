"""VALUE: an exception in a compile-time expression."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 1 // 0)


def run():
    kernel.lower("*fp32")


# ----
# value_python.py:9:17: CompileError[VALUE]: ZeroDivisionError: integer division or modulo by zero
#     tl.store(x, 1 // 0)
#                 ^~~~~~
