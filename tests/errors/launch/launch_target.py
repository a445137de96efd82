"""A compile: a target that does not exist."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel.compile("*fp32", "i32", target="rocm")


# ----
# ValueError: target 'rocm': expected cpu, cuda, cuda:sm_NN or emu:sm_NN, with NN one of 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121 and an 'a' behind it for all features of sm_90 and newer
