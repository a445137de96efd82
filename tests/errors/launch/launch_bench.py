"""TypeError: a launch in the place of a function that launches."""

import numpy as np

import tegula
import tegula.language as tl
from tegula import testing


@tegula.jit
def kernel(x, n):
    tl.store(x, n)


def run():
    x = np.zeros(4, np.float32)
    testing.do_bench(kernel[(1,)](x, 3))


# ----
# TypeError: do_bench takes a function: do_bench(lambda: k[grid](..))
