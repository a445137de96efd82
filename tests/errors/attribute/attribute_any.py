"""ATTRIBUTE: torch's name of a reduction."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, tl.any(tl.load(x + tl.arange(0, 4)) > 0))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# attribute_any.py:9:17: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'any'
#     tl.store(x, tl.any(tl.load(x + tl.arange(0, 4)) > 0))
#                 ^~~~~~
#   help: here it is tl.max(x.to(tl.int32), axis) != 0
