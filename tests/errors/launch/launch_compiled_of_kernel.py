"""AttributeError: what a launch gives, asked of the kernel."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, n)


def run():
    print(kernel.asm["ptx"])


# ----
# AttributeError: 'JITFunction' object has no attribute 'asm': a launch, k[grid](..), and k.compile(..) return the compiled kernel, which has asm, n_regs, n_spills and report
