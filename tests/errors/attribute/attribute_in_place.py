"""ATTRIBUTE: torch's methods that change a tensor."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x + tl.arange(0, 64))
    v.fill_(3)
    tl.store(x + tl.arange(0, 64), v)


def run():
    kernel.lower("*fp32")


# ----
# attribute_in_place.py:10:5: CompileError[ATTRIBUTE]: a block f32[64] has no attribute 'fill_'
#     v.fill_(3)
#     ^~~~~~~
#   help: here it is x = tl.full(x.shape, value, x.dtype): blocks are values
