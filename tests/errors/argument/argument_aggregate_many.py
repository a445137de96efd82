"""ARGUMENT: a class of values made of too much."""

import tegula
import tegula.language as tl


@tegula.aggregate
class Sum:
    total: tl.tensor
    count: tl.tensor

    def __init__(self, total, count):
        self.total = total
        self.count = count

    def plus(self, v):
        return Sum(self.total + v, self.count + 1)


@tegula.jit
def kernel(x, n):
    s = Sum(1.0, 2, 3)
    tl.store(x, s.total)


def run():
    kernel.lower("*fp32", "i32")


# ----
# argument_aggregate_many.py:22:9: CompileError[ARGUMENT]: Sum(): it takes 2 arguments, but 3 were given
#     s = Sum(1.0, 2, 3)
#         ^~~~~~~~~~~~~~
#   help: it is Sum(total, count)
