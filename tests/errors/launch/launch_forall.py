"""AttributeError: Numba's way to launch."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, n)


def run():
    kernel.forall(10)


# ----
# AttributeError: 'JITFunction' object has no attribute 'forall': k[(cdiv(n, BLOCK),)](..) launches a program for each block
