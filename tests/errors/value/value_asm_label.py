"""VALUE: a branch to nowhere."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x + tl.arange(0, 64))
    b = tl.inline_asm_elementwise(
        "bra DONE; mov.b32 $0, $1;", "=r,r", [a], tl.int32, True, 1
    )
    tl.store(x + tl.arange(0, 64), b)


def run():
    kernel.lower("*i32", target="cpu")


# ----
# value_asm_label.py:10:9: CompileError[VALUE]: in the assembly, line 1: there is no label DONE
#     b = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
