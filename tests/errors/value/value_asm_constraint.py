"""VALUE: a constraint of another machine."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x + tl.arange(0, 64))
    b = tl.inline_asm_elementwise("add.s32 $0, $1, 1;", "=r,x", [a], tl.int32, True, 1)
    tl.store(x + tl.arange(0, 64), b)


def run():
    kernel.lower("*i32", target="cpu")


# ----
# value_asm_constraint.py:10:9: CompileError[VALUE]: in the assembly, the constraint 'x' is none of NVIDIA's
#     b = tl.inline_asm_elementwise("add.s32 $0, $1, 1;", "=r,x", [a], tl.int32, True, 1)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: constraints are =r =f =l =d =h for results, then the same without = for operands; pack elements of less than 32 bits share 32-bit registers
