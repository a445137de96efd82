"""ATTRIBUTE: torch's fill."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    v = tl.load(x + tl.arange(0, 16))
    v.fill(0)


def run():
    kernel.lower("*fp32", "*fp32", "i32")


# ----
# attribute_fill.py:10:5: CompileError[ATTRIBUTE]: a block f32[16] has no attribute 'fill'
#     v.fill(0)
#     ^~~~~~
#   help: here it is x = tl.full(x.shape, value, x.dtype): blocks are values
