"""A chip that does not exist, between two that do."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 1.0)


def run():
    kernel.compile("*fp32", target="cuda:sm_91")


# ----
# ValueError: target 'cuda:sm_91': expected cpu, cuda, cuda:sm_NN or emu:sm_NN, with NN one of 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121 and an 'a' behind it for all features of sm_90 and newer
