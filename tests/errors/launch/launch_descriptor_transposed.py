"""A descriptor of a transposed array."""

import numpy as np

from tegula.tools.tensor_descriptor import TensorDescriptor


def run():
    TensorDescriptor.from_tensor(np.zeros((16, 16), np.float32).T, [16, 16])


# ----
# AssertionError: the last side must be contiguous, its stride is 16
