"""TARGET: a type of another vendor's machines."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x).to(tl.float8e4b8))


def run():
    kernel.lower("*fp32")


# ----
# target_e4b8.py:9:31: UnsupportedError[TARGET]: tl.float8e4b8 is not supported on this architecture
#     tl.store(x, tl.load(x).to(tl.float8e4b8))
#                               ^~~~~~~~~~~~~
