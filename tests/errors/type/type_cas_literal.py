"""TYPE: a float literal in an exchange of integers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.atomic_cas(y, 0, 1.5)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_cas_literal.py:9:25: CompileError[TYPE]: val of atomic_cas must be i32 as the pointer says, not f32
#     tl.atomic_cas(y, 0, 1.5)
#                         ^~~
#   help: convert it: x.to(p.dtype.element_ty)
