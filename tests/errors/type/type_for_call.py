"""TYPE: a loop over enumerate."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    for i in map(abs, (1, 2)):
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# type_for_call.py:9:14: CompileError[TYPE]: a kernel cannot call map: it is no function of the kernel language
#     for i in map(abs, (1, 2)):
#              ^~~~~~~~~~~~~~~~
#   help: here it is [f(v) for v in t] of a tuple; arithmetic on a block is on all its elements
