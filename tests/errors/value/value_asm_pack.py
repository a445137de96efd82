"""VALUE: four bytes share a register, the constraints name four."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x + tl.arange(0, 64))
    b = tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r,r,r,r", [a], tl.int8, True, 4
    )
    tl.store(x + tl.arange(0, 64), b)


def run():
    kernel.lower("*i8", target="cpu")


# ----
# value_asm_pack.py:10:9: CompileError[VALUE]: in the assembly, the constraints name 4 registers of operands, the elements take 1
#     b = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: constraints are =r =f =l =d =h for results, then the same without = for operands; pack elements of less than 32 bits share 32-bit registers
