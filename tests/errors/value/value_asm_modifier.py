"""VALUE: a modifier the instruction does not have."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x + tl.arange(0, 64))
    b = tl.inline_asm_elementwise(
        "add.rn.s32 $0, $1, 1;", "=r,r", [a], tl.int32, True, 1
    )
    tl.store(x + tl.arange(0, 64), b)


def run():
    kernel.lower("*i32", target="cpu")


# ----
# value_asm_modifier.py:10:9: CompileError[VALUE]: in the assembly, line 1: add.rn.s32: .rn is not simulated
#     b = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
