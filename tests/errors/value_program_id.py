"""VALUE: a grid axis beyond the third."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.program_id(3))


def run():
    kernel.lower("*fp32")


# ----
# value_program_id.py:9:17: CompileError[VALUE]: program_id axis must be 0, 1, or 2 but got 3
#     tl.store(x, tl.program_id(3))
#                 ^~~~~~~~~~~~~~~~
