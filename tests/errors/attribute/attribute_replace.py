"""ATTRIBUTE: aggregate_replace of a field that is not there."""

import tegula
import tegula.language as tl


@tegula.aggregate
class Point:
    x: tl.tensor


@tegula.jit
def kernel(p):
    q = tl.aggregate_replace(Point(1.0), xx=2.0)
    tl.store(p, q.x)


def run():
    kernel.lower("*fp32")


# ----
# attribute_replace.py:14:9: CompileError[ATTRIBUTE]: Point has no attribute 'xx'
#     q = tl.aggregate_replace(Point(1.0), xx=2.0)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: did you mean 'x'?
