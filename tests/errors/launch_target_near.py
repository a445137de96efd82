"""ValueError: a target that lacks its kind."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, n)


def run():
    kernel.compile("*fp32", "i32", target="sm_90")


# ----
# ValueError: target 'sm_90': expected cpu, cuda, cuda:sm_NN or emu:sm_NN, with sm_75 to sm_121 and an 'a' behind it for all features of sm_90 and newer; did you mean 'cuda:sm_90'?
