"""VALUE: an f-string that would fill the memory."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.static_print(f"{3:>1000000000}")
    tl.store(x, 1)


def run():
    kernel.lower("*i32")


# ----
# value_format_width.py:9:21: CompileError[VALUE]: the width or precision 1000000000 is too large: at most 9999
#     tl.static_print(f"{3:>1000000000}")
#                     ^~~~~~~~~~~~~~~~~~
