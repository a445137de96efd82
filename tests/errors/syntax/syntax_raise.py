"""SYNTAX: raise."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    raise ValueError("no")


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_raise.py:9:5: CompileError[SYNTAX]: 'raise' is not part of the kernel language
#     raise ValueError("no")
#     ^~~~~~~~~~~~~~~~~~~~~~
#   help: ValueError: no; tl.static_assert fails while compiling, tl.device_assert while running
