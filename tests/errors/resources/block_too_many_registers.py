"""A compile: a product whose result is more than a thread can hold."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(a, b, c, SIDE: tl.constexpr = 1024, K: tl.constexpr = 16):
    m, k = tl.arange(0, SIDE), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * SIDE + m[None, :])
    tl.store(c + m[:, None] * SIDE + m[None, :], tl.dot(x, y))


def run():
    kernel.compile("*fp16", "*fp16", "*fp32", target="cuda:sm_90a")


# ----
# OutOfResources: out of resource: registers of a thread, Required: 4096, Limit: 1024. Smaller blocks or more `num_warps` may help.
# block_too_many_registers.py:12:50: UnsupportedError[RESOURCES]: out of resource: registers of a thread, required: 4096, limit: 1024
#     tl.store(c + m[:, None] * SIDE + m[None, :], tl.dot(x, y))
#                                                  ^~~~~~~~~~~~
