"""VALUE: an arange from below zero."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x + tl.arange(-4, 4), 1.0)


def run():
    kernel.lower("*fp32")


# ----
# value_arange_negative.py:9:18: CompileError[VALUE]: arange's start must be 0 or more, not -4
#     tl.store(x + tl.arange(-4, 4), 1.0)
#                  ^~~~~~~~~~~~~~~~
#   help: tl.arange(0, N) - 4
