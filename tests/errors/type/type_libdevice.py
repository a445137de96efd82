"""TYPE: a function of libdevice that has no row for half precision."""

import tegula
import tegula.language as tl
from tegula.language.extra import libdevice


@tegula.jit
def kernel(x):
    tl.store(x, libdevice.nextafter(tl.load(x), tl.load(x)))


def run():
    kernel.lower("*fp16")


# ----
# type_libdevice.py:10:17: CompileError[TYPE]: nextafter takes f32 f32, f64 f64, not f16 f16
#     tl.store(x, libdevice.nextafter(tl.load(x), tl.load(x)))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: convert first: x.to(tl.float32)
