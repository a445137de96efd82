"""A launch: a float8 type that it says it has not."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 16)
    small = tl.load(x + i).to(tl.float8e4nv)
    tl.store(x + i, small.to(tl.float32))


def run():
    kernel[(1,)](np.zeros(16, np.float32), supported_fp8_dtypes=("fp8e5",))


# ----
# launch_option_fp8.py:12:13: CompileError[VALUE]: tl.float8e4nv is not among the option supported_fp8_dtypes of this launch
#     small = tl.load(x + i).to(tl.float8e4nv)
#             ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
