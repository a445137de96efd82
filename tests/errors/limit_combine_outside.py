"""LIMIT: a combine function that uses a run-time value from outside."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, scale):
    i = tl.arange(0, 64)
    v = tl.load(x + i)
    tl.store(x, tl.reduce(v, 0, lambda a, b: a + b * scale))


def run():
    kernel.lower("*fp32", "fp32")


# ----
# limit_combine_outside.py:11:50: UnsupportedError[LIMIT]: the combine function of reduce() uses 'scale' of type f32 from outside
#     tl.store(x, tl.reduce(v, 0, lambda a, b: a + b * scale))
#                                                  ^~~~~~~~~
#   help: it computes with its arguments and constants alone; apply what is around it before or after
#   in lambda(), inlined from limit_combine_outside.py:11
