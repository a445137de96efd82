"""A launch: a precision that it does not allow."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    p = x + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)
    tl.store(p, tl.dot(tl.load(p), tl.load(p), input_precision="tf32x3"))


def run():
    x = np.zeros((16, 16), np.float32)
    kernel[(1,)](x, allowed_dot_input_precisions=("tf32", "ieee"))


# ----
# launch_option_precision.py:12:17: CompileError[VALUE]: input_precision "tf32x3" is not among the option allowed_dot_input_precisions of this launch
#     tl.store(p, tl.dot(tl.load(p), tl.load(p), input_precision="tf32x3"))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
