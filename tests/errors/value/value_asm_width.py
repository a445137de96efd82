"""VALUE: a register of 32 bits where 64 are wanted."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x + tl.arange(0, 64))
    b = tl.inline_asm_elementwise("add.s64 $0, $1, 1;", "=r,r", [a], tl.int32, True, 1)
    tl.store(x + tl.arange(0, 64), b)


def run():
    kernel.lower("*i32", target="cpu")


# ----
# value_asm_width.py:10:9: CompileError[VALUE]: in the assembly, line 1: add.s64: $0 has 32 bits, the result 64
#     b = tl.inline_asm_elementwise("add.s64 $0, $1, 1;", "=r,r", [a], tl.int32, True, 1)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
