"""TypeError: a keyword of autotune, misspelt."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, B: tl.constexpr):
    tl.store(x, n)


def run():
    tegula.autotune(configs=[tegula.Config({"B": 16})], keys=["n"])(kernel)


# ----
# TypeError: autotune() takes no 'keys'; did you mean 'key'?
