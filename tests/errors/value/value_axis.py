"""VALUE: program_id of a fourth axis."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.program_id(3))


def run():
    kernel.lower("*fp32")


# ----
# value_axis.py:9:31: CompileError[VALUE]: program_id axis must be 0, 1, or 2 but got 3
#     tl.store(x, tl.program_id(3))
#                               ^
