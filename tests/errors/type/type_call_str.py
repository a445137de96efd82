"""TYPE: str() of a run-time number."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.device_print(str(tl.load(y)))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_call_str.py:9:21: CompileError[TYPE]: a kernel cannot call str: it is no function of the kernel language
#     tl.device_print(str(tl.load(y)))
#                     ^~~~~~~~~~~~~~~
#   help: here it is a text of constants: f"{N}"; tl.device_print shows a run-time value
