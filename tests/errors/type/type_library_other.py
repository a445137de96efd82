"""TYPE: a function of a library that has no counterpart."""

import textwrap

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, textwrap.indent(n, n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_library_other.py:11:17: CompileError[TYPE]: a kernel cannot call the Python function indent()
#     tl.store(x, textwrap.indent(n, n))
#                 ^~~~~~~~~~~~~~~~~~~~~
#   help: a library's function runs on the host: call it before the launch and pass what it gives
