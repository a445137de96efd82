"""TYPE: a function of the host, written in C."""

import os

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, os.getpid())


def run():
    kernel.lower("*i32")


# ----
# type_call_builtin.py:11:17: CompileError[TYPE]: a kernel cannot call os.getpid: it is no function of the kernel language
#     tl.store(x, os.getpid())
#                 ^~~~~~~~~~~
#   help: a library's function runs on the host: call it before the launch and pass what it gives
