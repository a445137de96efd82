"""A launch: a sanitizer."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), BLOCK=16, instrumentation_mode="fpsan")


# ----
# ValueError: option instrumentation_mode='fpsan': there are 'consan' and 'gsan' here, which run a kernel on the emulator
