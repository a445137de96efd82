"""A launch: a number as an array."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), np.full(1, 3))


# ----
# launch_number_tensor.py:12:29: CompileError[TYPE]: '<' cannot compare 'i' (a block i32[16]) and 'n' (a pointer to i64)
#     tl.store(x + i, n, mask=i < n)
#                             ^~~~~
#   help: a tensor that is passed to a kernel is an address: tl.load reads the number there; or pass the number, x.item()
