"""A launch: a file that replaces no stage."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), BLOCK=16, ir_override="kernel.ptx")


# ----
# ValueError: ir_override 'kernel.ptx': a file of this kind replaces nothing on cpu; .tir, .llir, .ll, .bc do
