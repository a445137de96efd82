"""VALUE: a register that nobody declared."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x + tl.arange(0, 64))
    b = tl.inline_asm_elementwise("mov.b32 $0, tmp;", "=r,r", [a], tl.int32, True, 1)
    tl.store(x + tl.arange(0, 64), b)


def run():
    kernel.lower("*i32", target="cpu")


# ----
# value_asm_name.py:10:9: CompileError[VALUE]: in the assembly, line 1: mov.b32: tmp is not a register
#     b = tl.inline_asm_elementwise("mov.b32 $0, tmp;", "=r,r", [a], tl.int32, True, 1)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
