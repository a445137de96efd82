"""A launch: None where the kernel loads."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](None, 3)


# ----
# launch_none.py:10:14: CompileError[TYPE]: '+' works on numbers and tensors, and 'x' is None
#     tl.store(x + i, n, mask=i < n)
#              ^
#   help: an argument that may be None is tested with 'is not None'; tl.store and functions without a return give None
