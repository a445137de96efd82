"""TARGET: assembly in which lanes of a warp meet, where there are none."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x)
    b = tl.inline_asm_elementwise(
        """
        // the neighbour's
        shfl.sync.bfly.b32 $0, $1, 1, 31, -1;
        """,
        "=r,r",
        [a],
        tl.int32,
        True,
        1,
    )
    tl.store(x, b)


def run():
    kernel.lower("*i32", target="cpu")


# ----
# target_asm.py:10:9: UnsupportedError[TARGET]: 'shfl.sync.bfly.b32' in line 3 of the assembly is not supported on the CPU
#     b = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: threads meet in it, so it runs on GPUs and on the emulator (TEGULA_TARGET=emu:sm_90a): choose by tl.target_info.is_ptx(), or write it in the language
