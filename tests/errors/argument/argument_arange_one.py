"""ARGUMENT: an arange as Python's range would take it."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x + tl.arange(64), 1.0)


def run():
    kernel.lower("*fp32")


# ----
# argument_arange_one.py:9:18: CompileError[ARGUMENT]: arange(): the argument 'end' is missing
#     tl.store(x + tl.arange(64), 1.0)
#                  ^~~~~~~~~~~~~
#   help: it is arange(start, end)
