"""CONDITION: an if on a str."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, ACT: tl.constexpr):
    if ACT:
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", ACT="relu")


# ----
# condition_str.py:9:8: CompileError[CONDITION]: the condition of an if must be a bool, an int, None or a scalar, not the constant str 'relu'
#     if ACT:
#        ^~~
#   help: compare it: == 'relu'
