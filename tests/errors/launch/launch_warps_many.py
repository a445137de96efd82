"""A compile: more threads than a GPU takes."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel.compile("*fp32", "i32", num_warps=64, target="emu:sm_90a")


# ----
# OutOfResources: out of resource: threads, Required: 2048, Hardware limit: 1024. Reducing `num_warps` may help.
