"""VALUE: a loop index as a shape."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for i in range(n):
        tl.store(x, tl.sum(tl.arange(0, i)))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_constexpr_loop.py:10:41: CompileError[VALUE]: arange's end must be known when the kernel is compiled, but 'i' (an i32 scalar) is known only when it runs
#         tl.store(x, tl.sum(tl.arange(0, i)))
#                                         ^
#   help: it changes while its loop runs; tl.static_range(..) unrolls a loop, and its index is a constant; or add a run-time offset outside: start + tl.arange(0, N)
