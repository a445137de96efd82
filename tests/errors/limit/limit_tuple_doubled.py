"""LIMIT: a tuple that names itself twice, again and again, is small to write and large to have."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    t = (1, 2)
    for _ in tl.static_range(26):
        t = (t, t)
    tl.store(x, 1)


def run():
    kernel.lower("*i32")


# ----
# limit_tuple_doubled.py:10:5: UnsupportedError[LIMIT]: a tuple of 131072 values, counted all the way down; at most 65536 are possible
#     for _ in tl.static_range(26):
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
