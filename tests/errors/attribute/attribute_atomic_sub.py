"""ATTRIBUTE: CUDA's atomicSub."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.atomic_sub(x, 1)


def run():
    kernel.lower("*i32")


# ----
# attribute_atomic_sub.py:9:5: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'atomic_sub'
#     tl.atomic_sub(x, 1)
#     ^~~~~~~~~~~~~
#   help: here it is tl.atomic_add(p, -x)
