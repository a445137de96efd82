"""ValueError: a target in capitals."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, n)


def run():
    kernel.compile("*fp32", "i32", target="EMU:SM_80")


# ----
# ValueError: target 'EMU:SM_80': expected cpu, cuda, cuda:sm_NN or emu:sm_NN, with NN one of 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121 and an 'a' behind it for all features of sm_90 and newer; did you mean 'emu:sm_80'?
