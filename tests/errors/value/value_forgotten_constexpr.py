"""VALUE: tl.constexpr forgotten on a parameter; the block size goes through a helper."""

import tegula
import tegula.language as tl


@tegula.jit
def offsets(pid, size):
    return pid * size + tl.arange(0, size)


@tegula.jit
def kernel(x, n, BLOCK):
    i = offsets(tl.program_id(0), BLOCK)
    tl.store(x + i, 1.0, mask=i < n)


def run():
    kernel.lower("*fp32", "i32", "i32")


# ----
# value_forgotten_constexpr.py:9:38: CompileError[VALUE]: arange's end must be known when the kernel is compiled, but 'size' (an i32 scalar) is known only when it runs
#     return pid * size + tl.arange(0, size)
#                                      ^~~~
#   help: annotate the parameter of kernel(): BLOCK: tl.constexpr; or add a run-time offset outside: start + tl.arange(0, N)
#   in offsets(), inlined from value_forgotten_constexpr.py:14
