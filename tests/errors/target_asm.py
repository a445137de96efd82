"""TARGET: assembly on the CPU."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.load(x)
    b = tl.inline_asm_elementwise(
        "ex2.approx.f32 $0, $1;", "=f,f", [a], tl.float32, True, 1
    )
    tl.store(x, b)


def run():
    kernel.lower("*fp32", target="cpu")


# ----
# target_asm.py:10:9: UnsupportedError[TARGET]: inline_asm_elementwise is not supported on the CPU
#     b = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: choose by tl.target_info.is_cuda(), or write it in the language
