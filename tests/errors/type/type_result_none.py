"""TYPE: using what a helper does not return."""

import tegula
import tegula.language as tl


@tegula.jit
def helper(p):
    tl.store(p, 2.0)


@tegula.jit
def kernel(x):
    tl.store(x, helper(x) + 1.0)


def run():
    kernel.lower("*fp32")


# ----
# type_result_none.py:14:17: CompileError[TYPE]: '+' works on numbers and tensors, and 'helper(x)' is None
#     tl.store(x, helper(x) + 1.0)
#                 ^~~~~~~~~
#   help: an argument that may be None is tested with 'is not None'; tl.store and functions without a return give None
