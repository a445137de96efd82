"""TARGET: a dtype that no element has."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x).to(tl.void))


def run():
    kernel.lower("*fp32")


# ----
# target_void.py:9:31: UnsupportedError[TARGET]: tl.void is not supported on this architecture
#     tl.store(x, tl.load(x).to(tl.void))
#                               ^~~~~~~
