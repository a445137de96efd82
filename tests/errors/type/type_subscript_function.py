"""TYPE: brackets where a call was meant."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, tl.program_id[0])


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_subscript_function.py:9:17: CompileError[TYPE]: tl.program_id is a function, which has no elements
#     tl.store(x, tl.program_id[0])
#                 ^~~~~~~~~~~~~~~~
#   help: call it: tl.program_id(..)
