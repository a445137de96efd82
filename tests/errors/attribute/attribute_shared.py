"""ATTRIBUTE: shared memory, which is not asked for."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    buffer = tl.shared((16,), tl.float32)
    tl.store(x, buffer)


def run():
    kernel.lower("*fp32")


# ----
# attribute_shared.py:9:14: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'shared'
#     buffer = tl.shared((16,), tl.float32)
#              ^~~~~~~~~
#   help: here it is a block: what tl.load gives stays in registers or shared memory as it needs to
