"""ATTRIBUTE: float8 has several types."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.load(x).to(tl.float8))


def run():
    kernel.lower("*fp32", "i32")


# ----
# attribute_float8.py:9:31: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'float8'
#     tl.store(x, tl.load(x).to(tl.float8))
#                               ^~~~~~~~~
#   help: here it is tl.float8e4nv or tl.float8e5
