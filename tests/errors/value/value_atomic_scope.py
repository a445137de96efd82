"""VALUE: a scope that does not exist."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.atomic_add(x, 1.0, scope="device")


def run():
    kernel.lower("*fp32")


# ----
# value_atomic_scope.py:9:27: CompileError[VALUE]: scope must be one of "gpu", "cta", "sys", not "device"
#     tl.atomic_add(x, 1.0, scope="device")
#                           ^~~~~~~~~~~~~~
