"""BRANCH_TYPE: which function is called would be known at run time alone."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    act = lambda v: v
    if n > 0:
        act = lambda v: tl.maximum(v, 0.0)
    tl.store(x, act(tl.load(x)))


def run():
    kernel.lower("*fp32", "i32")


# ----
# branch_function.py:11:9: CompileError[BRANCH_TYPE]: variable 'act' has type a lambda in one branch and a lambda in the other
#         act = lambda v: tl.maximum(v, 0.0)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: which function is called is known when the kernel is compiled; choose between results
