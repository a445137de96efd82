"""VALUE: a prefix that the device cannot print."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.device_print("n\u00fcmber", n)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_device_print.py:9:5: CompileError[VALUE]: the prefix of device_print must be printable ASCII, not "nümber"
#     tl.device_print("n\u00fcmber", n)
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
