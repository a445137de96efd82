"""ATTRIBUTE: the program's index by another name."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x + tl.pid(0), 1.0)


def run():
    kernel.lower("*fp32")


# ----
# attribute_pid.py:9:18: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'pid'
#     tl.store(x + tl.pid(0), 1.0)
#                  ^~~~~~
#   help: here it is tl.program_id(axis)
