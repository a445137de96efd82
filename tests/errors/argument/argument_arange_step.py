"""ARGUMENT: arange with a step."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x + tl.arange(0, 4, 2), 1.0)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# argument_arange_step.py:9:18: CompileError[ARGUMENT]: arange(): it takes at most 2 arguments, but 3 were given
#     tl.store(x + tl.arange(0, 4, 2), 1.0)
#                  ^~~~~~~~~~~~~~~~~~
#   help: it is arange(start, end)
