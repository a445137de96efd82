"""Run by test_abi3.py in another Python than the tests': no packages, only tegula."""

import ctypes
import gc
import sys
import threading

import tegula
import tegula.language as tl


class Array:
    def __init__(self, n):
        self.b = (ctypes.c_float * n)(*range(n))

    @property
    def __array_interface__(self):
        data = (ctypes.addressof(self.b), False)
        return {"data": data, "typestr": "<f4", "shape": (len(self.b),), "version": 3}


class Pointer(Array):
    __array_interface__ = property(doc="hidden: AttributeError")
    dtype = "float32"

    def data_ptr(self):
        return ctypes.addressof(self.b)


@tegula.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


def must_raise(call):
    try:
        call()
    except (TypeError, RuntimeError, KeyError, tegula.CompileError):
        return
    raise SystemExit("no error")


for kind in (Array, Pointer):
    x, y, out = kind(100), kind(100), kind(100)
    for grid in ((2,), lambda meta: (2,)):
        out.b[99] = 0
        compiled = add[grid](x, y, out, 100, BLOCK=64)
        assert out.b[5] == 10 and out.b[99] == 198
assert compiled.asm["tir"] and compiled.metadata.num_warps == 4
must_raise(lambda: add[5](x))
must_raise(lambda: add(x))
must_raise(lambda: add[(1,)](x, y, out, 100, BLOCK=0))
must_raise(lambda: add[(1,)](x, y, out, 100, BLOK=64))
must_raise(lambda: add[(1,)](x, y, [], 100, BLOCK=64))
with tegula.knobs.runtime.scope():
    tegula.knobs.runtime.target = "emu:sm_80"
    add[(2,)](Array(100), y, out, 100, BLOCK=64)
threads = [
    threading.Thread(target=lambda b=b: add[(1,)](x, y, out, b, BLOCK=b))
    for b in (16, 32, 64, 16, 32, 64)
]
for t in threads:
    t.start()
for t in threads:
    t.join()
add = compiled = None
gc.collect()
print("ok", sys.version_info[:2])
