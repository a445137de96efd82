"""Expressions across elements: reductions, scans, shapes, sorting, gathers."""

from __future__ import annotations

from .expr import Expr, clamped
from .scope import FLOATS, INTS, Shape, Want, in_range, is_float, size, within


class Across(Expr):
    def across(self, w: Want, depth: int) -> str:
        rank = len(w.shape)
        forms = [(6, self.reduced)] if rank < 3 else []
        if rank:
            forms += [(2, self.reshaped), (2, self.gathered), (2, self.scanned)]
            forms += [(1, self.flipped)]
            if w.shape[-1] > 1 and w.shape[-1] <= 64 and size(w.shape) <= 256:
                forms.append((1, self.sorted))
            if w.shape[-1] % 2 == 0:
                forms.append((1, self.interleaved))
            if w.shape[-1] == 2:
                forms.append((2, self.joined))
            if size(w.shape) <= 512 and rank <= 2:
                forms += [(1, self.split)]
                forms += [(2, self.sliced)] * (not self.plain)
        if rank > 1:
            forms.append((3, self.permuted))
        if rank == 1:
            forms += [(2, self.picked), (1, self.counted)]
        if rank and size(w.shape) <= 256 and not self.plain:
            forms.append((1, self.resized))
        if rank == 0 and not self.plain:
            forms.append((1, self.element))
        return self.d.weighted(forms)(w, depth)

    # ---- reductions and scans --------------------------------------------------------

    def reduced(self, w: Want, depth: int) -> str:
        d = self.d
        axis = d.below(len(w.shape) + 1)
        wide = [*w.shape]
        sides = [8, 16, 2, 32] if size(w.shape) <= 64 else [2, 4]
        if self.is_odd:
            sides += [3, 11, 5] if size(w.shape) <= 64 else [3]
        wide.insert(axis, d.pick(sides))
        v = w.with_shape(tuple(wide))
        where = "" if len(w.shape) == 0 and d.chance(30) else f"axis={axis}"
        comma = f", {where}" if where else ""
        if w.dtype == "int1":
            x = self.expr(v, depth - 1)
            fn = d.pick(["sum", "max", "min", "xor_sum"])
            return f"(tl.{fn}(({x}).to(tl.int32){comma}) > 0)"
        x = self.expr(v, depth - 1)
        if is_float(w.dtype):
            fn = d.pick(["sum", "max", "min"] if w.whole else ["max", "min"])
            if fn == "sum":
                return clamped(f"tl.sum(({x}).to(tl.float32){comma})", w.dtype)
            return f"(tl.{fn}({x}{comma}) + 0.0).to(tl.{w.dtype})"
        kind = d.below(10 if self.plain else 12)
        if kind > 9:
            other = d.pick([*INTS, *FLOATS])
            y = f"({self.expr(v.with_dtype(other), depth - 1)} + 0).to(tl.{other})"
            z = self.expr(v.with_dtype(d.pick(INTS)), depth - 1)
            back = axis - len(v.shape) if d.chance(30) else axis
            e = f"tl.reduce(({x}, {y}, {z}), {back}, spread)[{d.pick([0, 2, 1])}]"
            if e.endswith("[1]") and is_float(other):
                e = f"({e} == 3)"
            return f"({e}).to(tl.{w.dtype})"
        if kind == 0:
            near = self.simple(w.with_shape(()))  # a number from outside
            outer = f"lambda a, b: tl.minimum(tl.minimum(a, b), {near})"
            fn = d.pick(["plus", "lambda a, b: a + b", outer])
            fn = "plus" if self.plain else fn
            return f"tl.reduce({x}, {axis}, {fn}).to(tl.{w.dtype})"
        if kind == 1:
            i = self.expr(v.with_dtype("int32"), depth - 1)
            pair = f"tl.reduce(({x}, {i}), {axis}, top)"
            return f"({pair}[{d.below(2)}]).to(tl.{w.dtype})"
        if kind == 2:
            kept = f"tl.sum({x}, axis={axis}, keep_dims=True)"
            return f"tl.max({kept}, axis={axis}).to(tl.{w.dtype})"
        fn = d.pick(["sum", "max", "min", "xor_sum"])
        return f"tl.{fn}({x}{comma}).to(tl.{w.dtype})"

    def picked(self, w: Want, depth: int) -> str:
        """An index: of equal ones the first."""
        d = self.d
        dtype = d.pick(["int32", "float32", "int8", "uint16", "float16"])
        wide = (d.pick([8, 16, 4, *([9, 3] if self.is_odd else [])]), *w.shape)
        x = self.expr(Want(dtype, wide), depth - 1)
        if d.chance(30):
            e = f"tl.{d.pick(['max', 'min'])}({x}, 0, return_indices=True)[{d.below(2)}]"
        else:
            e = f"tl.{d.pick(['argmax', 'argmin'])}({x}, 0)"
        if is_float(w.dtype):
            return clamped(e, w.dtype) if w.whole else f"{e}.to(tl.{w.dtype})"
        if self.plain and is_float(dtype) and w.dtype in INTS:
            return in_range(e, dtype, w.dtype)
        return f"{e}.to(tl.{w.dtype})"

    def scanned(self, w: Want, depth: int) -> str:
        d = self.d
        axis = d.below(len(w.shape))
        x = self.expr(w, depth - 1)
        rev = ", reverse=True" if d.chance(40) else ""
        if w.dtype not in INTS:
            if is_float(w.dtype) and w.whole and d.chance(60):
                e = f"tl.cumsum(({x}).to(tl.float32), {axis}{rev})"
                return clamped(e, w.dtype)
            if d.chance(30):
                flags = self.expr(w.with_dtype(d.pick([*INTS, "int1"])), depth - 1)
                return f"tl.associative_scan(({x}, {flags}), {axis}, last{rev})[0]"
            if is_float(w.dtype) and not w.whole:  # larger is not associative with NaN
                x = self.expr(Want(w.dtype, w.shape), depth - 1)
            return f"tl.associative_scan({x}, {axis}, larger{rev}).to(tl.{w.dtype})"
        kind = d.below(7 if self.plain else 8)
        if kind == 7:
            other = d.pick(INTS)
            y, z = (self.expr(w.with_dtype(other), depth - 1) for _ in range(2))
            triple = f"tl.associative_scan(({x}, {y}, {z}), {axis}, spread{rev})"
            return f"({triple}[{d.below(3)}]).to(tl.{w.dtype})"
        if kind == 0:
            y = self.expr(w, depth - 1)
            pair = f"tl.associative_scan(({x}, {y}), {axis}, affine{rev})"
            return f"{pair}[{d.below(2)}]"
        if kind == 6:
            flags = self.expr(w.with_dtype(d.pick([*INTS, "int1"])), depth - 1)
            pair = f"tl.associative_scan(({x}, {flags}), {axis}, segments{rev})"
            return f"({pair}[{d.below(2)}]).to(tl.{w.dtype})"
        if kind == 1:
            return f"tl.associative_scan({x}, {axis}, first{rev})"
        if kind == 2:
            return f"tl.cumprod({x}, {axis}{rev}).to(tl.{w.dtype})"
        return f"tl.cumsum({x}, {axis}{rev}).to(tl.{w.dtype})"

    # ---- shapes ----------------------------------------------------------------------

    def reshaped(self, w: Want, depth: int) -> str:
        d = self.d
        n = size(w.shape)
        others: list[Shape] = [s for s in self.shapes if s and size(s) == n != 0]
        flat = d.pick([(n,), *[s for s in others if s != w.shape]])
        x = self.expr(w.with_shape(flat), depth - 1)
        if len(w.shape) == 1 and d.chance(30):
            return f"tl.ravel({x})"
        return f"tl.reshape({x}, {list(w.shape)})"

    def permuted(self, w: Want, depth: int) -> str:
        perm = [*range(len(w.shape))]
        for i in range(len(perm) - 1):
            k = self.d.between(i, len(perm) - 1)
            perm[i], perm[k] = perm[k], perm[i]
        if len(perm) == 2:
            x = self.expr(w.with_shape(w.shape[::-1]), depth - 1)
            return f"tl.trans({x})"
        # Dim i of the result is dim perm[i] of the source.
        source = [0] * len(perm)
        for i, p in enumerate(perm):
            source[p] = w.shape[i]
        x = self.expr(w.with_shape(tuple(source)), depth - 1)
        return f"tl.permute({x}, {perm})"

    def flipped(self, w: Want, depth: int) -> str:
        x = self.expr(w, depth - 1)
        return f"tl.flip({x}, {self.d.below(len(w.shape))})"

    def interleaved(self, w: Want, depth: int) -> str:
        half = w.with_shape((*w.shape[:-1], w.shape[-1] // 2))
        a, b = self.expr(half, depth - 1), self.expr(half, depth - 1)
        if len(w.shape) == 1 and self.d.chance(40) and not self.plain:
            return f"tl.cat({a}, {b}, can_reorder=False)"
        return f"tl.interleave({a}, {b})"

    def joined(self, w: Want, depth: int) -> str:
        part = w.with_shape(w.shape[:-1])
        a, b = self.expr(part, depth - 1), self.expr(part, depth - 1)
        return f"tl.join({a}, {b})"

    def split(self, w: Want, depth: int) -> str:
        x = self.expr(w.with_shape((*w.shape, 2)), depth - 1)
        return f"tl.split({x})[{self.d.below(2)}]"

    def sliced(self, w: Want, depth: int) -> str:
        d = self.d
        if d.chance(30) and len(w.shape) == 1:
            x = self.expr(w.with_shape((4, *w.shape)), depth - 1)
            return f"({x})[{d.pick(['0', '-1', '2', 'n & 3'])}]"
        n = w.shape[-1]
        x = self.expr(w.with_shape((*w.shape[:-1], n * 2)), depth - 1)
        lead = ":, " * (len(w.shape) - 1)
        if self.is_odd and d.chance(40):  # a little longer, or a little shorter
            more = d.pick([1, 3])
            shape = (*w.shape[:-1], max(1, n + more if d.chance(60) else n - more))
            x = self.expr(w.with_shape(shape), depth - 1)
            c = self.constant(w.dtype, w.whole)
            return f"tl.resize({x}, {list(w.shape)}, {c})"
        return f"({x})[{lead}{d.pick([f':{n}', f'{n}:', '::2', '1::2'])}]"

    def resized(self, w: Want, depth: int) -> str:
        """Cut, or extended at the end of its dims."""
        source = tuple(self.d.pick([n, 2 * n, max(n // 2, 1), n + 3]) for n in w.shape)
        x = self.expr(w.with_shape(source), depth - 1)
        fill = "" if w.dtype == "int1" or self.d.chance(50) else ", fill=1"
        return f"tl.resize({x}, {list(w.shape)}{fill})"

    def element(self, w: Want, depth: int) -> str:
        x = self.expr(w.with_shape((16,)), depth - 1)
        return f"({x})[{self.d.pick(['0', '-1', '7', 'n & 15'])}]"

    # ---- order -----------------------------------------------------------------------

    def gathered(self, w: Want, depth: int) -> str:
        axis = self.d.below(len(w.shape))
        x = self.expr(w, depth - 1)
        n = w.shape[axis]
        if size(w.shape) <= 512 and self.d.chance(40):
            n = self.d.pick([1, 2, n * 2, 16])
            source = (*w.shape[:axis], n, *w.shape[axis + 1 :])
            x = self.expr(w.with_shape(source), depth - 1)
        i = self.expr(w.with_dtype(self.d.pick(["int32", "int64", "int16"])), depth - 1)
        return f"tl.gather({x}, {within(i, n)}, {axis})"

    def sorted(self, w: Want, depth: int) -> str:
        d = self.d
        # NaNs have no place in an order, and a block of bools is not sorted.
        v = Want("int32" if w.dtype == "int1" else w.dtype, w.shape)
        x = self.expr(v, depth - 1)
        if d.chance(30) and w.shape[-1] <= 32:
            x = self.expr(v.with_shape((*w.shape[:-1], 2 * w.shape[-1])), depth - 1)
            order = d.pick(["", "", ", descending=False"]) if not self.plain else ""
            e = f"tl.topk({x}, {w.shape[-1]}{order})"
        else:
            e = f"tl.sort({x}, descending={d.chance(50)})"
        return f"({e}).to(tl.{w.dtype})"

    def counted(self, w: Want, depth: int) -> str:
        n = w.shape[0]
        if n < 2 or n > 256 or w.dtype not in (*INTS, *FLOATS):
            return self.arith(w, depth)
        x = self.expr(w.with_dtype("int32").with_shape((64,)), depth - 1)
        mask = ""
        if self.d.chance(30):
            mask = f", mask={self.expr(Want('int1', (64,)), depth - 1)}"
        e = f"tl.histogram({within(x, n)}, {n}{mask})"
        return clamped(e, w.dtype) if is_float(w.dtype) else f"{e}.to(tl.{w.dtype})"
