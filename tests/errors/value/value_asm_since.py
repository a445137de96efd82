"""VALUE: instructions of newer machines in assembly for an older one, on the emulator."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 128)
    b = tl.inline_asm_elementwise(
        """
        barrier.cluster.arrive;
        mov.b32 $0, $1;
        """,
        "=r,r",
        [tl.load(x + i)],
        tl.int32,
        False,
        1,
    )
    tl.store(x + i, b)


def run():
    kernel.lower("*i32", target="emu:sm_80")


# ----
# value_asm_since.py:10:9: CompileError[VALUE]: in the assembly, line 2: barrier.cluster.arrive: clusters are of sm_90 on
#     b = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
