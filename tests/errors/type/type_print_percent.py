"""TYPE: print with %."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    text = "n = %d"
    print(text % n)


def run():
    kernel.lower("*fp32", "*fp32", "i32")

    # ----
    # type_print_percent.py:9:11: CompileError[TYPE]: '%' works on numbers and tensors, not on the constant str 'n = %d'
    #     text = "n = %d"
    print(text % n)


#           ^~~~~~~~
#   help: tl.device_print("x", x) shows run-time values, an f-string those that are known when the kernel is compiled

# ----
# type_print_percent.py:10:11: CompileError[TYPE]: '%' works on numbers and tensors, not on the constant str 'n = %d'
#     print(text % n)
#           ^~~~
#   help: tl.device_print("x", x) shows run-time values, an f-string those that are known when the kernel is compiled
