"""TYPE: a function of a library."""

import logging

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    logging.info(n)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_library_function.py:11:5: CompileError[TYPE]: a kernel cannot call the Python function info()
#     logging.info(n)
#     ^~~~~~~~~~~~~~~
#   help: here it is tl.device_print("prefix", x)
