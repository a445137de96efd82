"""VALUE: a memory order that does not exist."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.atomic_add(x, 1.0, sem="seq_cst")


def run():
    kernel.lower("*fp32")


# ----
# value_atomic_sem.py:9:27: CompileError[VALUE]: sem must be one of "acq_rel", "acquire", "release", "relaxed", not "seq_cst"
#     tl.atomic_add(x, 1.0, sem="seq_cst")
#                           ^~~~~~~~~~~~~
