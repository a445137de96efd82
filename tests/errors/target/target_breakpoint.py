"""TARGET: breakpoint() in compiled code."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x)
    breakpoint()
    tl.store(x, v)


def run():
    kernel.lower("*fp32")


# ----
# target_breakpoint.py:10:5: UnsupportedError[TARGET]: breakpoint() is not supported on the CPU
#     breakpoint()
#     ^~~~~~~~~~~~
#   help: @tegula.jit(interpret=True), or TEGULA_INTERPRET=1, runs the kernel where it can be stopped
