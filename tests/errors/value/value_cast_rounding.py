"""VALUE: a rounding that does not exist."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x).to(tl.float16, fp_downcast_rounding="up"))


def run():
    kernel.lower("*fp32")


# ----
# value_cast_rounding.py:9:17: CompileError[VALUE]: fp_downcast_rounding must be "rtne" or "rtz", not "up"
#     tl.store(x, tl.load(x).to(tl.float16, fp_downcast_rounding="up"))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
