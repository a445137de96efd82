"""ARGUMENT: one argument by place and by name."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 1.0, value=2.0)


def run():
    kernel.lower("*fp32")


# ----
# argument_twice.py:9:22: CompileError[ARGUMENT]: store(): 'value' is given twice
#     tl.store(x, 1.0, value=2.0)
#                      ^~~~~~~~~
