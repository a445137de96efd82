"""TYPE: adding None."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, bias):
    tl.store(x, tl.load(x) + bias)


def run():
    kernel.lower("*fp32", None)


# ----
# type_add_none.py:9:30: CompileError[TYPE]: '+' works on numbers and tensors, and 'bias' is None
#     tl.store(x, tl.load(x) + bias)
#                              ^~~~
#   help: an argument that may be None is tested with 'is not None'; tl.store and functions without a return give None
