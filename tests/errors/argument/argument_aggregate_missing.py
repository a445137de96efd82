"""ARGUMENT: a class of values made of too little."""

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
    s = Sum(1.0)
    tl.store(x, s.total)


def run():
    kernel.lower("*fp32", "i32")


# ----
# argument_aggregate_missing.py:22:9: CompileError[ARGUMENT]: Sum(): the argument 'count' is missing
#     s = Sum(1.0)
#         ^~~~~~~~
#   help: it is Sum(total, count)
