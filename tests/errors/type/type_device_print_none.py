"""TYPE: printing None on the device."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.device_print("x", None)


def run():
    kernel.lower("*fp32")


# ----
# type_device_print_none.py:9:5: CompileError[TYPE]: an operand of device_print must be a number or a tensor, not None
#     tl.device_print("x", None)
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: None is what tl.store and functions without a return give
