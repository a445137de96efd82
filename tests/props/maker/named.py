"""Expressions by names that few kernels write: exact functions of libdevice, random bits,
other spellings of what operators and methods do."""

from __future__ import annotations

import re
from typing import NamedTuple

from .across import Across
from .scope import FP8, INTS, SIGNED, Want, is_float, size


class Exact(NamedTuple):
    """A function of a, b, c, rounded once or not at all."""

    text: str
    takes: str
    gives: str


NO_NAN = "tl.where(a == a, a, 1.0)"
WAYS = ["rd", "rn", "ru", "rz"]
EXACT = [
    *(
        Exact(f"libdevice.{f}(a)", t, "int32")
        for f in ("clz", "popc", "ffs")
        for t in ("int32", "int64")
    ),
    *(Exact("libdevice.brev(a)", t, t) for t in ("int32", "int64")),
    *(Exact("libdevice.mulhi(a, b)", t, t) for t in INTS if t[-2:] in ("32", "64")),
    *(
        Exact(f"libdevice.{f}(a, b)", t, t)
        for f in ("hadd", "rhadd", "mul24")
        for t in ("int32", "uint32")
    ),
    Exact("libdevice.sad(a, b, c.to(tl.uint32))", "int32", "int32"),
    Exact("libdevice.byte_perm(a, b, c & 0x7777)", "int32", "int32"),
    *(
        Exact(f"libdevice.{f}_{r}(a, b)", t, t)
        for f in ("add", "sub", "mul", "div")
        for r in WAYS
        for t in ("float32", "float64")
    ),
    *(Exact(f"libdevice.fma_{r}(a, b, c)", "float32", "float32") for r in WAYS),
    *(
        Exact(f"libdevice.{f}_{r}(a)", "float32", "float32")
        for f in ("rcp", "sqrt")
        for r in WAYS
    ),
    *(Exact(f"libdevice.float2int_{r}(a)", "float32", "int32") for r in WAYS),
    *(Exact(f"libdevice.float2ull_{r}(a)", "float32", "uint64") for r in WAYS),
    *(Exact(f"libdevice.double2float_{r}(a)", "float64", "float32") for r in WAYS),
    *(Exact(f"libdevice.ll2float_{r}(a)", "int64", "float32") for r in WAYS),
    *(Exact(f"libdevice.uint2float_{r}(a)", "uint32", "float32") for r in WAYS),
    *(
        Exact(f"libdevice.{f}(a)", t, t)
        for f in ("rint", "trunc", "nearbyint", "round")
        for t in ("float32", "float64")
    ),
    *(
        Exact(f"libdevice.{f}(a, b)", t, t)
        for f in ("fmod", "remainder", "nextafter", "fdim")
        for t in ("float32", "float64")
    ),
    Exact("libdevice.ldexp(a, b.to(tl.int32) & 31)", "float32", "float32"),
    Exact("libdevice.llrint(a)", "float32", "int64"),
    Exact("libdevice.isnan(a).to(tl.int32)", "float32", "int32"),
    # The sign of a NaN is nobody's promise.
    Exact(f"libdevice.signbit({NO_NAN}).to(tl.int32)", "float64", "int32"),
    *(Exact(f"libdevice.copysign(b, {NO_NAN})", t, t) for t in ("float32", "float64")),
    Exact("tl.rint(a)", "float32", "float32"),
    Exact("tl.polynomial(a, (0.5, -2.0, 3.0))", "float32", "float32"),
    Exact("tl.uint_to_uniform_float(a)", "uint32", "float32"),
    Exact("tl.uint_to_uniform_float(a)", "int64", "float32"),
    Exact("tl.cast(tl.abs(a), tl.float16, 'rtz')", "float32", "float16"),
]
SEEDS = ["7", "n0", "big", "pid"]


class Named(Across):
    def across(self, w: Want, depth: int) -> str:
        if self.plain or not self.d.chance(25):
            return super().across(w, depth)
        forms = [(4, self.exact), (2, self.drawn), (3, self.spelled)]
        forms += [(1, self.swizzled), (1, self.recursive)]
        if not is_float(w.dtype) or w.whole:
            forms.append((2, self.indexed))
        if is_float(w.dtype) and not w.whole:
            forms.append((2, self.toward_zero))
        if len(w.shape) == 1 and 4 <= size(w.shape) <= 64:
            forms.append((2, self.merged))
        return self.d.weighted(forms)(w, depth)

    def converted(self, text: str, source: str, w: Want) -> str:
        """What has that type, as w wants it."""
        if w.dtype == "int1":
            return f"({text} > 0)"
        if is_float(w.dtype) and w.whole:
            whole = text if source in INTS else f"({text}).to(tl.int32)"
            return f"({whole} & 15).to(tl.{w.dtype})"
        return f"({text}).to(tl.{w.dtype})"

    def exact(self, w: Want, depth: int) -> str:
        f = self.d.pick(EXACT)
        v = Want(f.takes, w.shape, False)
        args = {x: f"({self.expr(v, depth - 1)})" for x in "abc"}
        text = re.sub(r"\b[abc]\b", lambda m: args[m[0]], f.text)
        return self.converted(text, f.gives, w)

    def drawn(self, w: Want, depth: int) -> str:
        """Random bits, which a seed and counters say."""
        d = self.d
        kind = d.pick(["int32", "uint32", "int64", "uint64"])
        a, b = (self.expr(Want(kind, w.shape), depth - 1) for _ in range(2))
        seed, rounds = d.pick(SEEDS), d.pick(["", ", 7"])
        text = d.pick(
            [
                f"tl.randint({seed}, {a}{rounds})",
                f"tl.randint4x({seed}, {a}{rounds})[{d.below(4)}]",
                f"tl.philox({seed}, {a}, {b}, {b}, {a}{rounds})[{d.below(4)}]",
            ]
        )
        return self.converted(text, "uint64", w)

    def spelled(self, w: Want, depth: int) -> str:
        d, rank = self.d, len(w.shape)
        a, b = (self.expr(w, depth - 1) for _ in range(2))
        k = d.below(rank + 1)
        forms = [
            f"tl.cast({a}, tl.{w.dtype})",
            f"tl.broadcast({a}, {b})[{d.below(2)}]",
            f"tl.squeeze(tl.unsqueeze({a}, {k}), {k})",
            f"tl.reshape(tl.expand_dims({a}, [0, {-1 - k}]), {list(w.shape)})",
        ]
        if w.dtype == "int1":
            forms += [f"tl.logical_{f}({a}, {b})" for f in ("and", "or")]
        else:
            forms.append(f"tl.where(tl.zeros_like({a}) == 0, {a}, {b})")
        if w.dtype in INTS:
            f = d.pick(["add", "sub", "mul"])
            forms.append(f"tl.{f}({a}, {b}, sanitize_overflow={d.chance(50)})")
        if rank == 2:
            turned = self.expr(w.with_shape(w.shape[::-1]), depth - 1)
            forms.append(f"({turned}).T")
        if rank == 0:
            one = self.expr(w.with_shape((1,)), depth - 1)
            forms.append(f"({one}).item()")
        return f"({d.pick(forms)}).to(tl.{w.dtype})"

    def swizzled(self, w: Want, depth: int) -> str:
        i, j = (self.expr(Want("int32", w.shape), depth - 1) for _ in range(2))
        group, k = self.d.between(1, 4), self.d.below(2)
        text = f"tl.swizzle2d({i} & 7, {j} & 3, 8, 4, {group})[{k}]"
        return self.converted(text, "int32", w)

    def recursive(self, w: Want, depth: int) -> str:
        v = Want(self.d.pick(SIGNED), w.shape)
        text = f"downwards({self.expr(v, depth - 1)}, {self.d.pick(['C', '3', '0'])})"
        return self.converted(text, v.dtype, w)

    def indexed(self, w: Want, depth: int) -> str:
        """A reduction with the place of what it found, and one of bits."""
        d, rank = self.d, len(w.shape)
        if rank == 3 or size(w.shape) > 64:
            return self.exact(w, depth)
        axis, wide = d.below(rank + 1), [*w.shape]
        wide.insert(axis, d.pick([8, 2, 16]))
        v = Want(d.pick(INTS), tuple(wide))
        x = self.expr(v, depth - 1)
        if d.chance(40):
            kept = d.chance(50)
            text = f"tl.reduce_or({x}, {axis}, keep_dims={kept})"
            text = f"tl.reshape({text}, {list(w.shape)})" if kept else text
            return self.converted(text, v.dtype, w)
        f = d.pick(["max", "min"])
        text = f"tl.{f}({x}, {axis}, return_indices=True)[{d.below(2)}]"
        return self.converted(text, v.dtype, w)

    def toward_zero(self, w: Want, depth: int) -> str:
        x = self.expr(Want("float32", w.shape, False), depth - 1)
        small, way = self.d.pick(FP8), self.d.pick(["rtz", "rtne"])
        text = f"({x}).to(tl.{small}, fp_downcast_rounding='{way}')"
        return f"{text}.to(tl.float32).to(tl.{w.dtype})"

    def merged(self, w: Want, depth: int) -> str:
        """What rises, then falls."""
        d = self.d
        if w.shape[0] & (w.shape[0] - 1):
            return self.spelled(w, depth)
        v = Want("int32" if w.dtype == "int1" else w.dtype, (w.shape[0] // 2,))
        up, down = (self.expr(v, depth - 1) for _ in range(2))
        both = f"tl.sort({up}), tl.sort({down}, descending=True)"
        text = f"tl.bitonic_merge(tl.cat({both}), descending={d.chance(50)})"
        return f"({text}).to(tl.{w.dtype})"
