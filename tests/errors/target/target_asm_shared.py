"""TARGET: shared memory, of which a CPU has none."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x + tl.arange(0, 64))
    b = tl.inline_asm_elementwise(
        "ld.shared.b32 $0, [$1];", "=r,r", [a], tl.int32, True, 1
    )
    tl.store(x + tl.arange(0, 64), b)


def run():
    kernel.lower("*i32", target="cpu")


# ----
# target_asm_shared.py:10:9: UnsupportedError[TARGET]: 'ld.shared.b32' in line 1 of the assembly is not supported on the CPU
#     b = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: threads meet in it, so it runs on GPUs and on the emulator (TEGULA_TARGET=emu:sm_90a): choose by tl.target_info.is_ptx(), or write it in the language
