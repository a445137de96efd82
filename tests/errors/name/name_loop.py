"""NAME: a variable that only a loop defines."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for i in range(n):
        y = i * 2
    tl.store(x, y)


def run():
    kernel.lower("*fp32", "i32")


# ----
# name_loop.py:11:17: CompileError[NAME]: name 'y' is not defined
#     tl.store(x, y)
#                 ^
#   help: 'y' gets its value inside the loop of line 9, which may run zero times; give it one before the loop
