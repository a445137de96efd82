"""ARGUMENT: a conversion to nothing."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x).to())


def run():
    kernel.lower("*fp32")


# ----
# type_to_missing.py:9:17: CompileError[ARGUMENT]: to(): the argument 'dtype' is missing
#     tl.store(x, tl.load(x).to())
#                 ^~~~~~~~~~~~~~~
#   help: it is to(input, dtype[, fp_downcast_rounding, bitcast])
