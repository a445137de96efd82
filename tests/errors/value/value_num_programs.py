"""VALUE: a negative grid axis."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.num_programs(-1))


def run():
    kernel.lower("*fp32")


# ----
# value_num_programs.py:9:33: CompileError[VALUE]: num_programs axis must be 0, 1, or 2 but got -1
#     tl.store(x, tl.num_programs(-1))
#                                 ^~
