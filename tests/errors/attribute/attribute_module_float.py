"""ATTRIBUTE: torch's name of a dtype."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    tl.store(x, tl.sum(tl.zeros((16,), tl.float)))


def run():
    kernel.lower("*fp32", "*fp32", "i32")


# ----
# attribute_module_float.py:9:40: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'float'
#     tl.store(x, tl.sum(tl.zeros((16,), tl.float)))
#                                        ^~~~~~~~
#   help: here it is tl.float32, or x.to(tl.float32)
