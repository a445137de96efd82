"""A launch: memory without a type of its own."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](memoryview(bytearray(64)), 3)


# ----
# TypeError: argument 'x': a memoryview cannot be passed to a kernel; parameters take tensors, int, float, bool, None and tuples of them. numpy.asarray() makes an array of its memory, without a copy
