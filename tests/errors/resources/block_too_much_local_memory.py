"""A compile: blocks that live at once are more than a thread's local memory."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, z, BLOCK: tl.constexpr = 1 << 20):
    i = tl.arange(0, BLOCK)
    turned = tl.load(x + i).reshape(1024, BLOCK // 1024).T.reshape(BLOCK)
    tl.store(x + i, turned + tl.load(y + i) + tl.load(z + i))


def run():
    kernel.compile(*["*fp64"] * 3, target="cuda:sm_90a", num_warps=1)


# ----
# OutOfResources: out of resource: local memory of a thread, Required: 1048576, Limit: 458752. Smaller blocks or more `num_warps` may help.
# block_too_much_local_memory.py:8:1: UnsupportedError[RESOURCES]: out of resource: local memory of a thread, required: 1048576, limit: 458752
# def kernel(x, y, z, BLOCK: tl.constexpr = 1 << 20):
# ^
