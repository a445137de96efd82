"""TypeError: a value for the name of a key."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, B: tl.constexpr):
    tl.store(x, n)


def run():
    tegula.autotune(configs=[tegula.Config({"B": 16})], key=[4])(kernel)


# ----
# ValueError: @autotune: key 4 is no parameter of kernel(x, n, B)
