"""TARGET: matrix instructions of four warps, on the emulator."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    b = tl.inline_asm_elementwise(
        "wgmma.fence.sync.aligned; mov.b32 $0, $1;",
        "=r,r",
        [a],
        tl.int32,
        True,
        1,
    )
    tl.store(x + i, b)


def run():
    kernel.lower("*i32", target="emu:sm_90a")


# ----
# target_asm_mma.py:11:9: UnsupportedError[TARGET]: 'wgmma.fence.sync.aligned' in line 1 of the assembly is not supported on the emulator
#     b = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: it runs on GPUs alone: choose by tl.target_info.is_ptx(), or write it in the language
