"""VALUE: device_print without its prefix."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.device_print(n)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_device_print_first.py:9:21: CompileError[VALUE]: the prefix of device_print must be known when the kernel is compiled, but it is a run-time value of type i32
#     tl.device_print(n)
#                     ^
#   help: the first argument is a text: tl.device_print("x", x)
