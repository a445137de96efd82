"""VALUE: an arange that ends where it starts."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x + tl.arange(8, 8), 1.0)


def run():
    kernel.lower("*fp32")


# ----
# value_arange_empty.py:9:18: CompileError[VALUE]: arange's end argument must be greater than the start argument
#     tl.store(x + tl.arange(8, 8), 1.0)
#                  ^~~~~~~~~~~~~~~
