"""ATTRIBUTE: a misspelt function of libdevice."""

import tegula
import tegula.language as tl
from tegula.language.extra import libdevice


@tegula.jit
def kernel(x):
    tl.store(x, libdevice.tan_h(tl.load(x)))


def run():
    kernel.lower("*fp32")


# ----
# attribute_extra.py:10:17: CompileError[ATTRIBUTE]: the module tegula.language.extra.libdevice has no attribute 'tan_h'
#     tl.store(x, libdevice.tan_h(tl.load(x)))
#                 ^~~~~~~~~~~~~~~
#   help: did you mean 'tanh'?
