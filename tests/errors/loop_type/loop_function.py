"""LOOP_TYPE: a function made of itself in a loop that runs."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    f = lambda v: v
    for i in range(n):
        f = lambda v, f=f: f(v) + 1.0
    tl.store(x, f(tl.load(x)))


def run():
    kernel.lower("*fp32", "i32")


# ----
# loop_function.py:11:9: CompileError[LOOP_TYPE]: loop-carried variable 'f' has type a lambda before the loop and a lambda after one iteration
#         f = lambda v, f=f: f(v) + 1.0
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: which function is called is known when the kernel is compiled; tl.static_range(..) unrolls a loop
