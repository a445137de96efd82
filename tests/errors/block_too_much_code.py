"""A compile: a sort of more elements than code for a thread should have."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr = 1 << 15):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.sort(tl.load(x + i)))


def run():
    kernel.compile("*fp32", target="cuda:sm_90a")


# ----
# OutOfResources: out of resource: instructions, Required: 666429, Limit: 524288. Smaller blocks or more `num_warps` may help.
# block_too_much_code.py:8:1: UnsupportedError[RESOURCES]: out of resource: instructions, required: 666429, limit: 524288
# def kernel(x, BLOCK: tl.constexpr = 1 << 15):
# ^
