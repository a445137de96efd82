"""TYPE: a text and a run-time number."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.device_print("n is " + n)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_add_text.py:9:21: CompileError[TYPE]: '+' works on numbers and tensors, not on the constant str 'n is '
#     tl.device_print("n is " + n)
#                     ^~~~~~~
#   help: tl.device_print("text", x) shows a run-time value beside a text
