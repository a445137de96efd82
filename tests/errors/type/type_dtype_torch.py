"""TYPE: NumPy's dtype in place of the language's."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x + tl.arange(0, 16), tl.zeros((16,), dtype=np.float16))


def run():
    kernel.lower("*fp16")


# ----
# type_dtype_torch.py:11:52: CompileError[TYPE]: dtype must be a dtype such as tl.float32, not the class float16
#     tl.store(x + tl.arange(0, 16), tl.zeros((16,), dtype=np.float16))
#                                                    ^~~~~~~~~~~~~~~~
#   help: write tl.float16
