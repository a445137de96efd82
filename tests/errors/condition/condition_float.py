"""CONDITION: an if on a constant float."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, scale: tl.constexpr):
    if scale:
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", scale=0.5)


# ----
# condition_float.py:9:8: CompileError[CONDITION]: the condition of an if must be a bool, an int, None or a scalar, not the constant float 0.5
#     if scale:
#        ^~~~~
#   help: compare it: != 0
