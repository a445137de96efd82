"""A compile: divisible by three."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel.compile("*fp32:3", "i32")


# ----
# ValueError: signature '*fp32:3' of 'x': after the colon comes 2, 4, 8 or 16 (divisible by)
