"""ATTRIBUTE: a block does not go to the host."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    v = tl.load(x + tl.arange(0, 16))
    tl.store(x, v.cpu())


def run():
    kernel.lower("*fp32", "i32")


# ----
# attribute_to_host.py:10:17: CompileError[ATTRIBUTE]: a block f32[16] has no attribute 'cpu'
#     tl.store(x, v.cpu())
#                 ^~~~~
#   help: here it is tl.store: the host reads what a kernel stores
