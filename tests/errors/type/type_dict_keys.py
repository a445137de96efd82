"""TYPE: a dict of run-time values whose keys are no texts."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    d = {0: n, 1: n + 1}
    tl.store(x, d[0])


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_dict_keys.py:9:10: CompileError[TYPE]: a key of a dict must be a str here, not the constant int 0
#     d = {0: n, 1: n + 1}
#          ^
#   help: a dict with run-time values has texts for keys; a tuple is indexed by numbers
