"""NAME: a variable before its value."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, y)
    y = 1.0


def run():
    kernel.lower("*fp32")


# ----
# name_unset.py:9:17: CompileError[NAME]: name 'y' is not defined
#     tl.store(x, y)
#                 ^
#   help: 'y' gets its value further down
