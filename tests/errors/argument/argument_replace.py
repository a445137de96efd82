"""ARGUMENT: aggregate_replace of what is no aggregate."""

import tegula
import tegula.language as tl


@tegula.aggregate
class Point:
    x: tl.tensor


@tegula.jit
def kernel(p):
    q = tl.aggregate_replace(3, x=2)
    tl.store(p, q.x)


def run():
    kernel.lower("*fp32")


# ----
# argument_replace.py:14:9: CompileError[ARGUMENT]: aggregate_replace(): it takes an aggregate, not the constant int 3
#     q = tl.aggregate_replace(3, x=2)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: tl.aggregate_replace(value, field=new, ..)
