"""ARGUMENT: a builtin called with too much."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.program_id(0, 1, 2))


def run():
    kernel.lower("*fp32")


# ----
# argument_many.py:9:17: CompileError[ARGUMENT]: program_id(): it takes at most 1 argument, but 3 were given
#     tl.store(x, tl.program_id(0, 1, 2))
#                 ^~~~~~~~~~~~~~~~~~~~~~
#   help: it is program_id(axis)
