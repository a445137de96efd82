"""LIMIT: a combine function that loads."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 64)

    def largest(a, b):
        return tl.maximum(a, tl.load(x + tl.abs(b)))

    tl.store(x, tl.reduce(i, 0, largest))


def run():
    kernel.lower("*i32")


# ----
# limit_combine_sum.py:12:38: UnsupportedError[LIMIT]: the combine function of reduce() uses 'x' of type ptr<i32> from outside
#         return tl.maximum(a, tl.load(x + tl.abs(b)))
#                                      ^~~~~~~~~~~~~
#   help: it computes with its arguments and with numbers; of several blocks, tl.reduce((x, y), axis, f) gives it one element each
#   in largest(), inlined from limit_combine_sum.py:14
