"""A compile: clusters for an older machine."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel.compile("*fp32", "i32", num_ctas=2, target="emu:sm_80")


# ----
# ValueError: num_ctas=2: clusters of thread blocks need sm_90, and kernel() is compiled for sm_80
