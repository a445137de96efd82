"""TARGET: a float8 that no target of ours has."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x).to(tl.float8e4b15).to(tl.float32))


def run():
    kernel.lower("*fp32")


# ----
# target_dtype.py:9:31: UnsupportedError[TARGET]: tl.float8e4b15 is not supported on this architecture
#     tl.store(x, tl.load(x).to(tl.float8e4b15).to(tl.float32))
#                               ^~~~~~~~~~~~~~
