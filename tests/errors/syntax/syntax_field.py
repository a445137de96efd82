"""SYNTAX: a field of an aggregate, set outside of __init__."""

import tegula
import tegula.language as tl


@tegula.aggregate
class Point:
    x: tl.tensor
    y: tl.tensor


@tegula.jit
def kernel(p, n):
    a = Point(1.0, y=2.0)
    a.x = tl.load(p)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_field.py:16:5: CompileError[SYNTAX]: assigning to an attribute is not part of the kernel language
#     a.x = tl.load(p)
#     ^~~
#   help: fields are set in __init__ alone: make a new value
