"""A launch: a sanitizer."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), BLOCK=16, instrumentation_mode="consan")


# ----
# ValueError: option instrumentation_mode='consan' is not supported: TEGULA_TARGET=emu:sm_90a runs a kernel with every access, race and barrier checked
