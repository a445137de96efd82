"""VALUE: an operand the constraints do not name, where an assembler reads the rest."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x + tl.arange(0, 64))
    b = tl.inline_asm_elementwise("add.s32 $0, $1, $2;", "=r,r", [a], tl.int32, True, 1)
    tl.store(x + tl.arange(0, 64), b)


def run():
    kernel.lower("*i32", target="cuda:sm_80")


# ----
# value_asm_operand_ptx.py:10:9: CompileError[VALUE]: in the assembly, line 1: there is no $2: the constraints name 2 registers
#     b = tl.inline_asm_elementwise("add.s32 $0, $1, $2;", "=r,r", [a], tl.int32, True, 1)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
