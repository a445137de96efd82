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


@tegula.jit
def doubled(v):
    w = v + v
    return w


@tegula.jit(interpret=True)
def stepped(x):
    v = tl.load(x)
    v = doubled(v)
    tl.store(x, v)


def lines_of(run):
    """(function, line in it, its variables) of each line event."""
    seen = []

    def tracer(frame, event, arg):
        code = frame.f_code
        if code.co_filename == __file__ and event == "line":
            line = frame.f_lineno - code.co_firstlineno
            seen.append((code.co_name, line, dict(frame.f_locals)))
        return tracer

    sys.settrace(tracer)
    try:
        run()
    finally:
        sys.settrace(None)
    return [s for s in seen if s[0] in ("stepped", "doubled")]


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
one = Array(2)
one.b[0] = 3
seen = lines_of(lambda: stepped[(1,)](one))
assert [s[:2] for s in seen] == [
    ("stepped", 1),
    ("stepped", 2),
    ("doubled", 1),
    ("doubled", 2),
    ("stepped", 3),
], seen
assert seen[2][2] == {"v": 3.0} and seen[3][2] == {"v": 3.0, "w": 6.0}, seen
assert one.b[0] == 6
print("ok", sys.version_info[:2])
