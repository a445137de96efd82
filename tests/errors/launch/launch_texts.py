"""An array of texts."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 1.0)


def run():
    kernel[(1,)](np.array(["a", "b"]))


# ----
# TypeError: argument 'x' is an ndarray that kernels cannot read: element type <U1 is not supported: kernels compute with numbers, and x.astype(numpy.float32) makes them of what can be read as such
