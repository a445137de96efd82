"""A launch: the kernel writes an array of a library whose arrays never change."""

import numpy as np

import tegula
import tegula.language as tl


class Array:  # as JAX hands it out, so that this runs without JAX
    __module__ = "jaxlib._jax"
    values = np.zeros(16, np.float32)

    def __dlpack__(self, *, stream=None, max_version=None):
        return self.values.__dlpack__()


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](Array(), 3)


# ----
# ValueError: argument 'x' is a JAX array, which never changes, and kernel() writes it; pass a NumPy array (on a GPU, a torch or CuPy tensor) for the result, and give that to JAX afterwards
