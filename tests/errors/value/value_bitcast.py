"""VALUE: a bitcast between widths."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x).to(tl.int16, bitcast=True))


def run():
    kernel.lower("*fp32")


# ----
# value_bitcast.py:9:17: CompileError[VALUE]: bitcast from f32 to i16: the widths differ
#     tl.store(x, tl.load(x).to(tl.int16, bitcast=True))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
