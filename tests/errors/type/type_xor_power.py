"""TYPE: ^ for a power."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, tl.load(x) ^ 2)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_xor_power.py:9:17: CompileError[TYPE]: '^' works on integers, not on f32
#     tl.store(x, tl.load(x) ^ 2)
#                 ^~~~~~~~~~~~~~
#   help: a power is x * x, or tl.exp2(y * tl.log2(x)); of bits, x.to(tl.int32, bitcast=True)
