"""VALUE: constraints of two operands, and one is given."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x + tl.arange(0, 64))
    b = tl.inline_asm_elementwise(
        "add.s32 $0, $1, $2;", "=r,r,r", [a], tl.int32, True, 1
    )
    tl.store(x + tl.arange(0, 64), b)


def run():
    kernel.lower("*i32", target="cuda:sm_80")


# ----
# value_asm_count.py:10:9: CompileError[VALUE]: in the assembly, the constraints name 2 registers of operands, the elements take 1
#     b = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: constraints are =r =f =l =d =h for results, then the same without = for operands; pack elements of less than 32 bits share 32-bit registers
