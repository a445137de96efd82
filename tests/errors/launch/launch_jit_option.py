"""TypeError: an option of jit, misspelt."""

import tegula
import tegula.language as tl


def kernel(x, n):
    tl.store(x, n)


def run():
    tegula.jit(do_not_specialise=["n"])(kernel)


# ----
# TypeError: jit() takes no 'do_not_specialise'; did you mean 'do_not_specialize'?
