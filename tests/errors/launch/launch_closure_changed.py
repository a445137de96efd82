"""A launch: the enclosing function gave another value to a variable the kernel read."""

import tegula
import tegula.language as tl


def run():
    size = tl.constexpr(64)

    @tegula.jit
    def kernel(x):
        tl.store(x, size)

    kernel.compile("*i32")
    size = tl.constexpr("sixty-four")
    kernel.compile("*i32")


# ----
# RuntimeError: variable of the enclosing function 'size' was 64 when the kernel kernel() was compiled, and is 'sixty-four' now: a compiled kernel keeps the values it read. Pass it as an argument (size: tl.constexpr), or define the kernel again after the change
