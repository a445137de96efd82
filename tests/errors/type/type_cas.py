"""TYPE: atomic_cas converts nothing."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.atomic_cas(x, n, 1)


def run():
    kernel.lower("*i64", "i32")


# ----
# type_cas.py:9:22: CompileError[TYPE]: cmp of atomic_cas must be i64 as the pointer says, not i32
#     tl.atomic_cas(x, n, 1)
#                      ^
#   help: convert it: x.to(p.dtype.element_ty)
