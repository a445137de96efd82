"""ValueError: a target that lacks its kind."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, n)


def run():
    kernel.compile("*fp32", "i32", target="sm_90")


# ----
# ValueError: target 'sm_90': expected cpu, cuda, cuda:sm_NN or emu:sm_NN, with NN one of 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121 and an 'a' behind it for all features of sm_90 and newer; did you mean 'cuda:sm_90'?
