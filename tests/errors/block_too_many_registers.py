"""A compile: an op that takes a whole block, of which a thread would hold too much."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr = 1 << 20):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.cumsum(tl.load(x + i), 0))


def run():
    kernel.compile("*fp32", target="cuda:sm_90a")


# ----
# OutOfResources: out of resource: registers of a thread, Required: 8192, Limit: 1024. Smaller blocks or more `num_warps` may help.
# block_too_many_registers.py:10:21: UnsupportedError[RESOURCES]: out of resource: registers of a thread, required: 8192, limit: 1024
#     tl.store(x + i, tl.cumsum(tl.load(x + i), 0))
#                     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
