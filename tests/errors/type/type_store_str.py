"""TYPE: storing a text."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, "hello")


def run():
    kernel.lower("*fp32")


# ----
# type_store_str.py:9:17: CompileError[TYPE]: the value of store must be a number or a tensor, not the constant str 'hello'
#     tl.store(x, "hello")
#                 ^~~~~~~
