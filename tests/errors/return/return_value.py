"""RETURN: a kernel that returns something."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    return tl.load(x)


def run():
    kernel.lower("*fp32")


# ----
# return_value.py:9:5: CompileError[RETURN]: a kernel returns no value
#     return tl.load(x)
#     ^~~~~~~~~~~~~~~~~
#   help: a kernel gives its results by tl.store
