"""A launch: a global that the compiled kernel has inside is another one now."""

import tegula
import tegula.language as tl

SIZE = tl.constexpr(64)


@tegula.jit
def kernel(x):
    tl.store(x, SIZE)


def run():
    global SIZE
    kernel.compile("*i32")
    SIZE = tl.constexpr(128)
    kernel.compile("*i32")


# ----
# RuntimeError: global variable 'SIZE' was 64 when the kernel kernel() was compiled, and is 128 now: a compiled kernel keeps the values it read. Pass it as an argument (SIZE: tl.constexpr), or define the kernel again after the change
