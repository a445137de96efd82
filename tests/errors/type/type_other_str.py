"""TYPE: infinity as a text."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.arange(0, 16)
    tl.store(x + i, tl.load(x + i, mask=i < n, other="-inf"))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_other_str.py:10:48: CompileError[TYPE]: other must be a number or a tensor, not the constant str '-inf'
#     tl.store(x + i, tl.load(x + i, mask=i < n, other="-inf"))
#                                                ^~~~~~~~~~~~
#   help: float("inf") and float("nan") are numbers
