"""TYPE: div_rn is for float32."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x)
    tl.store(x, tl.div_rn(v, v))


def run():
    kernel.lower("*fp64")


# ----
# type_div_rn.py:10:17: CompileError[TYPE]: div_rn takes float32, not f64
#     tl.store(x, tl.div_rn(v, v))
#                 ^~~~~~~~~~~~~~~
#   help: convert first: x.to(tl.float32)
