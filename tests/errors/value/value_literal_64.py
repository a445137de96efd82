"""VALUE: an integer beyond 64 bits."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 1 << 70)


def run():
    kernel.lower("*fp32")


# ----
# value_literal_64.py:9:17: CompileError[VALUE]: the integer 1180591620717411303424 does not fit 64 bits
#     tl.store(x, 1 << 70)
#                 ^~~~~~~
#   help: integers reach from -2**63 to 2**64 - 1; a float reaches further: float(..)
