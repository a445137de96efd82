"""TypeError: a method that was not called."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, n)


def run():
    x = np.zeros(4, np.float32)
    kernel[(1,)](x, x.sum)


# ----
# TypeError: argument 'n': a builtin_function_or_method cannot be passed to a kernel; parameters take tensors, int, float, bool, None and tuples of them. It is a function: call it, x.numel()
