"""A function of the library called outside of a kernel."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, N: tl.constexpr):
    tl.store(x, tl.softmax(tl.load(x + tl.arange(0, N)), 0)[0])


def run():
    tl.softmax(0.5)


# ----
# RuntimeError: softmax is a function of the kernel language and was called outside of a kernel: did you forget @triton.jit (here: @tegula.jit) on the caller?
