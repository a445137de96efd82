"""VALUE: a rounding for a cast that does not round."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x).to(tl.float32, fp_downcast_rounding="rtz"))


def run():
    kernel.lower("*fp16")


# ----
# value_cast_widening.py:9:17: CompileError[VALUE]: fp_downcast_rounding is only for floats to narrower floats, not for f16 to f32
#     tl.store(x, tl.load(x).to(tl.float32, fp_downcast_rounding="rtz"))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
