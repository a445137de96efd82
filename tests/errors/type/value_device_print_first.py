"""VALUE: device_print without its prefix."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.device_print(n)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_device_print_first.py:9:21: CompileError[TYPE]: the prefix of device_print must be a str, not an i32 scalar
#     tl.device_print(n)
#                     ^
#   help: tl.device_print("x", x): a text comes first
