"""A compile: more sorts than code for a thread should have."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr = 1 << 13):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in tl.static_range(16):
        v = tl.sort(v)
    tl.store(x + i, v)


def run():
    kernel.compile("*fp32", target="cuda:sm_90a")


# ----
# OutOfResources: out of resource: instructions, Required: 873332, Limit: 524288. Smaller blocks or more `num_warps` may help.
# block_too_much_code.py:8:1: UnsupportedError[RESOURCES]: out of resource: instructions, required: 873332, limit: 524288
# def kernel(x, BLOCK: tl.constexpr = 1 << 13):
# ^
