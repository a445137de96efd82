"""A compile: a type that does not exist."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel.compile("*fp33", "i32")


# ----
# ValueError: signature '*fp33' of 'x': unknown type: "*fp32" is a pointer, "i32" a number
