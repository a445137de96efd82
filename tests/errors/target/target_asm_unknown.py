"""TARGET: an instruction of assembly that nobody knows."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x + tl.arange(0, 64))
    b = tl.inline_asm_elementwise(
        "frobnicate.b32 $0, $1;", "=r,r", [a], tl.int32, True, 1
    )
    tl.store(x + tl.arange(0, 64), b)


def run():
    kernel.lower("*i32", target="cpu")


# ----
# target_asm_unknown.py:10:9: UnsupportedError[TARGET]: 'frobnicate.b32' in line 1 of the assembly is not supported on the CPU
#     b = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: where GPUs have it, choose by tl.target_info.is_ptx(), or write it in the language
