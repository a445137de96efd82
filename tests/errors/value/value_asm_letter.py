"""VALUE: a letter behind an operand that LLVM does not know."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x + tl.arange(0, 64))
    b = tl.inline_asm_elementwise("neg.s32 ${0:x}, $1;", "=r,r", [a], tl.int32, True, 1)
    tl.store(x + tl.arange(0, 64), b)


def run():
    kernel.lower("*i32", target="cuda:sm_80")


# ----
# value_asm_letter.py:10:9: CompileError[VALUE]: in the assembly, line 1: '${0:x': a register has no modifier but ':r'
#     b = tl.inline_asm_elementwise("neg.s32 ${0:x}, $1;", "=r,r", [a], tl.int32, True, 1)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
