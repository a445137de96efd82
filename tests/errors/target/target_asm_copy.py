"""TARGET: copies of tensors, which the emulator's threads cannot do either."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    b = tl.inline_asm_elementwise(
        "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [$2, {0}]; mov.b32 $0, 0;",
        "=r,r,l",
        [a, x + i],
        tl.int32,
        True,
        1,
    )
    tl.store(x + i, b)


def run():
    kernel.lower("*i32", target="emu:sm_90a")


# ----
# target_asm_copy.py:11:9: UnsupportedError[TARGET]: 'cp.async.bulk.prefetch.tensor.1d.L2.global.tile' in line 1 of the assembly is not supported on the emulator
#     b = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: it runs on GPUs alone: choose by tl.target_info.is_ptx(), or write it in the language
