"""VALUE: Python's round of a run-time value."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, round(tl.load(x)))


def run():
    kernel.lower("*fp32")


# ----
# value_round.py:9:23: CompileError[VALUE]: an argument of round() must be known when the kernel is compiled, but 'tl.load(x)' (an f32 scalar) is known only when it runs
#     tl.store(x, round(tl.load(x)))
#                       ^~~~~~~~~~
#   help: here it is libdevice.rint(x) of tegula.language.extra
