"""LOOP_TYPE: a tuple that grows in a loop that runs."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    seen = (n,)
    for i in range(n):
        seen = (*seen, i)
    tl.store(x, seen[0])


def run():
    kernel.lower("*i32", "i32")


# ----
# loop_tuple.py:11:9: CompileError[LOOP_TYPE]: loop-carried variable 'seen' has type (i32,) before the loop and (i32, i32) after one iteration
#         seen = (*seen, i)
#         ^~~~~~~~~~~~~~~~~
#   help: line 9: a tuple keeps its length and its types in a loop that runs
