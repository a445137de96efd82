"""TYPE: what store gives, in arithmetic."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    s = tl.store(x, 1) + 1
    tl.store(x, s)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_store_result_add.py:9:9: CompileError[TYPE]: '+' works on numbers and tensors, and 'tl.store(x, 1)' is None
#     s = tl.store(x, 1) + 1
#         ^~~~~~~~~~~~~~
#   help: an argument that may be None is tested with 'is not None'; tl.store and functions without a return give None
