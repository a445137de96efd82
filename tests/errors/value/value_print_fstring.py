"""VALUE: a run-time number in the f-string of print."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    n = tl.load(y)
    print(f"n is {n}")


def run():
    kernel.lower("*fp32", "*i32")


# ----
# value_print_fstring.py:10:19: CompileError[VALUE]: a field of an f-string must be known when the kernel is compiled, but 'n' (an i32 scalar) is known only when it runs
#     print(f"n is {n}")
#                   ^
#   help: tl.device_print("..", n) shows run-time values
