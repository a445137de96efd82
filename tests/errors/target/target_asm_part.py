"""TARGET: a barrier of some of the threads."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    b = tl.inline_asm_elementwise(
        "bar.sync 1, 64; mov.b32 $0, $1;",
        "=r,r",
        [a],
        tl.int32,
        True,
        1,
    )
    tl.store(x + i, b)


def run():
    kernel.lower("*i32", target="cpu")


# ----
# target_asm_part.py:11:9: UnsupportedError[TARGET]: 'bar.sync' in line 1 of the assembly is not supported on the CPU
#     b = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: threads meet in it, so it runs on GPUs and on the emulator (TEGULA_TARGET=emu:sm_90a): choose by tl.target_info.is_ptx(), or write it in the language
