"""A launch: a tensor of complex numbers."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](np.zeros(16, np.complex64), 3)


# ----
# TypeError: argument 'x' is an ndarray that kernels cannot read: element type complex64 is not supported: pass the real numbers it is made of, by torch.view_as_real(x) or x.view(numpy.float32), where real and imaginary parts take turns
