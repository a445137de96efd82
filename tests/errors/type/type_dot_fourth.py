"""TYPE: the type of the result in the place of the precision."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 16)
    a = tl.load(x + i[:, None] * 16 + i)
    tl.store(x + i[:, None] * 16 + i, tl.dot(a, a, a, tl.float32))


def run():
    kernel.lower("*fp32")


# ----
# type_dot_fourth.py:11:55: CompileError[TYPE]: input_precision must be a str, not tegula.language.float32
#     tl.store(x + i[:, None] * 16 + i, tl.dot(a, a, a, tl.float32))
#                                                       ^~~~~~~~~~
#   help: the fourth argument says how float32 is multiplied, "tf32" or "ieee": name the others, allow_tf32=False, out_dtype=tl.float32
