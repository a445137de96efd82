"""VALUE: the shape of a tensor that was passed to the kernel."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, x.shape[0])


def run():
    kernel.lower("*fp32")


# ----
# value_shape_pointer.py:9:17: CompileError[VALUE]: 'x' is a scalar: its shape is ()
#     tl.store(x, x.shape[0])
#                 ^~~~~~~~~~
#   help: of a tensor that is passed a kernel gets the address alone: pass its sizes as arguments
