"""TYPE: ~ of a float."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, ~tl.load(x))


def run():
    kernel.lower("*fp32")


# ----
# type_invert_float.py:9:17: CompileError[TYPE]: '~' is not available on f32
#     tl.store(x, ~tl.load(x))
#                 ^~~~~~~~~~~
