"""A launch: a file of MLIR."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), BLOCK=16, ir_override="kernel.ttir")


# ----
# ValueError: ir_override 'kernel.ttir': this is MLIR, and the compiler has none; change what compiled.asm["tir"] has, in a file *.tir
