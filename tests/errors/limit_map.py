"""LIMIT: a load in a function of map_elementwise."""

import tegula
import tegula.language as tl


@tegula.jit
def f(v):
    return v + tl.load(v)


@tegula.jit
def kernel(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.map_elementwise(f, i))


def run():
    kernel.lower("*i32")


# ----
# limit_map.py:9:16: UnsupportedError[LIMIT]: load() in a function of map_elementwise
#     return v + tl.load(v)
#                ^~~~~~~~~~
#   in f(), inlined from limit_map.py:15
