"""A compile: a target that is no text."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel.compile("*fp32", "i32", target=90)


# ----
# TypeError: target must be a str, as 'cuda:sm_90a' is, not 90
