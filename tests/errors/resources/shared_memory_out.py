"""A compile: shared memory is named, with the op that wanted it."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, BLOCK: tl.constexpr = 65536):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.gather(tl.load(x + i), tl.load(y + i), axis=0))


def run():
    kernel.compile("*fp32", "*i32", num_warps=8, target="cuda:sm_90a")


# ----
# OutOfResources: out of resource: shared memory, Required: 262144, Hardware limit: 232448. Reducing block sizes or `num_stages` may help.
# shared_memory_out.py:10:21: UnsupportedError[RESOURCES]: out of resource: shared memory, required: 262144, limit: 232448
#     tl.store(x + i, tl.gather(tl.load(x + i), tl.load(y + i), axis=0))
#                     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
