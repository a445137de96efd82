"""TYPE: comparing a number with a text."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    if n == "small":
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_compare_str.py:9:13: CompileError[TYPE]: an operand of a comparison must be a number or a tensor, not the constant str 'small'
#     if n == "small":
#             ^~~~~~~
