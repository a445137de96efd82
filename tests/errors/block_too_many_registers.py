"""A compile: a block that no thread can hold; refused before LLVM sees it."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr = 1 << 20):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i) + 1)


def run():
    kernel.compile("*fp32", target="cuda:sm_90a")


# ----
# OutOfResources: out of resource: registers of a thread, Required: 8192, Limit: 2048. Smaller blocks or more `num_warps` may help.
# block_too_many_registers.py:8:1: UnsupportedError[RESOURCES]: out of resource: registers of a thread, required: 8192, limit: 2048
# def kernel(x, BLOCK: tl.constexpr = 1 << 20):
# ^
