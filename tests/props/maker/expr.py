"""Expressions, element by element: each has exactly the type and shape that is wanted."""

from __future__ import annotations

from .memory import Memory
from .scope import ALL, BITS, FLOATS, INTS, SIGNED, UNSIGNED, Want, in_range, is_float

COMPARE = ["<", "==", "<=", "!=", ">", ">="]


# Which zero min and max give of -0 and +0 is the target's choice: + 0.0 makes it +0.


def clamped(text: str, dtype: str, limit: int = 16) -> str:
    return f"tl.minimum(tl.maximum({text}, -{limit}), {limit}).to(tl.{dtype})"


class Expr(Memory):
    # ---- leaves ----------------------------------------------------------------------

    def constant(self, dtype: str, whole: bool = True) -> str:
        if dtype == "int1":
            return self.d.pick(["True", "False"])
        if is_float(dtype):
            if not whole and self.d.chance(50):
                odd = ["0.5", "-1.25", "3.140625", "1e-3", "-7e4", "float('inf')"]
                odd += ["float('-inf')", "float('nan')"]
                # Triton's literal -0.0 is 0.0.
                return self.d.pick(odd if self.plain else [*odd, "-0.0"])
            return f"{self.d.between(-9, 9)}.0"
        if not self.plain and self.d.chance(12):
            return str(self.edge(dtype))
        return str(self.d.between(0 if dtype in UNSIGNED else -9, 9))

    def edge(self, dtype: str) -> int:
        """A constant near where something ends."""
        bits, d = BITS[dtype], self.d
        low, high = (
            (0, 2**bits) if dtype in UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        )
        c = d.pick([0, 1, 2, bits, bits // 2, 2 ** d.below(bits), high - 1, low])
        c = d.pick([1, 1, 1, -1]) * c + d.pick([0, 0, 0, 1, -1])
        return (c - low) % (high - low) + low

    def full(self, w: Want) -> str:
        c = self.constant(w.dtype, w.whole)
        return f"tl.full({list(w.shape)}, {c}, tl.{w.dtype})"

    def leaf(self, w: Want) -> str:
        same = [v.name for v in self.vars if v.fits(w)]
        near = [
            v
            for v in self.vars
            if len(v.shape) == len(w.shape) > 0
            and v.fits(w.with_shape(v.shape))
            and all(a in (b, 1) for a, b in zip(v.shape, w.shape, strict=True))
        ]
        roll = self.d.below(100)
        if roll < 15:
            return self.full(w)
        if same and roll < 70:
            return self.d.pick(same)
        if near and roll < 80:
            return f"tl.broadcast_to({self.d.pick(near).name}, {list(w.shape)})"
        return self.load(w)

    def simple(self, w: Want) -> str:
        same = [v.name for v in self.vars if v.fits(w)]
        return self.d.pick([self.full(w), *same])

    # ---- arithmetic ------------------------------------------------------------------

    def pair(self, w: Want, depth: int) -> tuple[str, str]:
        """Two operands of the type; one may be smaller, and is broadcast."""
        a = self.expr(w, depth - 1)
        if self.d.chance(15) and len(w.shape) == 2:
            axis = self.d.below(2)
            row = self.expr(w.with_shape((w.shape[axis],)), depth - 1)
            b = f"({row})" + ("[None, :]" if axis else "[:, None]")
        elif self.d.chance(15):
            b = self.expr(w.with_shape(()), 0)
        else:
            b = self.expr(w, depth - 1)
        return a, b

    def arith(self, w: Want, depth: int) -> str:
        if w.dtype == "int1":
            return self.arith_bool(w, depth)
        if is_float(w.dtype):
            return self.arith_whole(w, depth) if w.whole else self.arith_any(w, depth)
        return self.arith_int(w, depth)

    def arith_bool(self, w: Want, depth: int) -> str:
        d = self.d
        kind = d.below(8)
        if kind < 4:
            v = Want(d.pick(INTS + FLOATS), w.shape, d.chance(50))
            a, b = self.pair(v, depth)
            chain = f" {d.pick(COMPARE)} {self.expr(v, 0)}" if d.chance(15) else ""
            chain = "" if self.plain else chain
            return f"({a} {d.pick(COMPARE)} {b}{chain})"
        a = self.expr(w, depth - 1)
        if kind == 4:
            return f"({a} == 0)" if d.chance(50) else f"(~{a})"
        if kind == 5 and not w.shape:
            return f"({a} {d.pick(['and', 'or'])} {self.expr(w, depth - 1)})"
        return f"({a} {d.pick(['&', '|', '^'])} {self.expr(w, depth - 1)})"

    def arith_whole(self, w: Want, depth: int) -> str:
        d = self.d
        a, b = self.pair(w, depth)
        e = d.weighted(
            [
                (6, f"{a} {d.pick('+-*')} {b}"),
                (1, f"tl.minimum({a}, {b}) + 0.0"),
                (1, f"tl.maximum({a}, {b}) + 0.0"),
                (1, f"tl.abs({a}) - {b}"),
                (1, f"-{a}" if not self.plain else f"1 - {a}"),
                (1, f"{a} * {self.constant(w.dtype)}"),
                (1, f"tl.clamp({a}.to(tl.float32), -3.0, 5.0)"),
            ]
        )
        return clamped(e, w.dtype)

    def arith_any(self, w: Want, depth: int) -> str:
        """Rounded once, alike everywhere."""
        d = self.d
        a, b = self.pair(w, depth)
        single = Want("float32", w.shape, False)
        forms = [
            f"({a} {d.pick('+-*')} {b})",
            f"({a} {d.pick('+-*')} {b})",
            f"({a} {d.pick('+-*')} {b})",
            f"(tl.minimum({a}, {b}) + 0.0)",
            f"tl.maximum({a}, {b}, propagate_nan=tl.PropagateNan.ALL)",
            f"tl.abs({a})",
            f"(-{a})",
            f"({self.constant(w.dtype)} - {a})",
            f"tl.floor({a}.to(tl.float32))",
            f"tl.ceil({a}.to(tl.float32))",
            f"({a} % {b})",
        ]
        if self.plain:  # Triton's are a - b * trunc(a / b), and 0 - a
            forms = [e for e in forms if "%" not in e and not e.startswith("(-")]
        kind = d.below(len(forms) + 4)
        if kind < len(forms):
            e = forms[kind]
        elif kind == len(forms):
            e = f"tl.sqrt_rn({self.expr(single, depth - 1)})"
        elif kind == len(forms) + 1:
            e = f"tl.div_rn({a}.to(tl.float32), {self.expr(single, depth - 1)})"
        elif kind == len(forms) + 2 and w.dtype in ("float32", "float64"):
            e = f"tl.fma({a}, {b}, {self.expr(w, depth - 1)})"
        else:  # mixed types, promoted by the language
            other = Want(d.pick(INTS + FLOATS), w.shape, False)
            e = f"({a} {d.pick('+-*')} {self.expr(other, depth - 1)})"
        return f"{e}.to(tl.{w.dtype})"

    def arith_int(self, w: Want, depth: int) -> str:
        d = self.d
        a, b = self.pair(w, depth)
        unsigned = w.dtype in UNSIGNED
        kind = d.below(23)
        if kind == 19 and self.plain:
            kind = 0
        if kind < 6:
            e = f"({a} {d.pick('+-*&|^')} {b})"
        elif kind == 6:
            e = f"({a} // (({b} & 7) + 1))"
        elif kind == 7:
            e = f"({a} % (({b} & 15) + 1))"
        elif kind == 8:
            e = f"({a} << ({b} & 7))"
        elif kind == 9:
            e = f"({a} >> ({b} & 7))"
        elif kind == 10:
            e = f"(~{a})"
        elif kind == 11:
            e = f"(-{a})"
        elif kind == 12:
            e = f"tl.minimum({a}, {b})"
        elif kind == 13:
            e = f"tl.maximum({a}, {b})"
        elif kind == 14:
            e = f"tl.abs({a})" if not unsigned else f"({a} & 77)"
        elif kind == 15:
            e = f"({a} {d.pick('+-*&|^')} {self.constant(w.dtype)})"
        elif kind == 16:
            c = d.pick([1, 2, 3, 5, 8, 10, 64, 100])
            e = f"({a} {d.pick(['//', '%'])} {c})"
        elif kind == 17 and w.dtype in ("int32", "uint32", "int64", "uint64"):
            e = f"tl.umulhi({a}, {self.expr(w, depth - 1)})"
        elif kind == 18:
            e = f"tl.cdiv({a}, {d.pick([1, 2, 3, 16])})"
        elif kind == 19:  # by anything, by anything much: 0, -1, beyond the width
            e = f"({a} {d.pick(['//', '%', '<<', '>>'])} {b})"
        else:  # integers of two types
            other = self.expr(Want(d.pick(INTS), w.shape), depth - 1)
            e = f"({a} {d.pick('+-*&|^')} {other})"
        return f"({e}).to(tl.{w.dtype})"

    # ---- other types -----------------------------------------------------------------

    def cast(self, w: Want, depth: int) -> str:
        d = self.d
        source = Want(d.pick(ALL), w.shape, w.whole or d.chance(50))
        x = self.expr(source, depth - 1)
        if is_float(w.dtype) and w.whole:
            if source.dtype in INTS:
                return f"(({x}) & 15).to(tl.{w.dtype})"
            if d.chance(20) and is_float(source.dtype):
                return f"({x}).to(tl.float32).to(tl.float8e5).to(tl.{w.dtype})"
            return f"({x}).to(tl.{w.dtype})"
        kind = d.below(10)
        if kind == 0 and w.dtype in BITS:
            same = [t for t in INTS + FLOATS if BITS[t] == BITS[w.dtype]]
            v = Want(d.pick(same), w.shape)
            y = self.expr(v, depth - 1)
            if is_float(v.dtype) and self.has_nans:
                y = f"sound({y})"
            if not is_float(w.dtype):
                return f"({y}).to(tl.{w.dtype}, bitcast=True)"
            # A NaN's bits are nobody's promise, so no NaN is made of bits.
            return f"(({y}).to(tl.{w.dtype}, bitcast=True) * 1.0).to(tl.{w.dtype})"
        if kind == 1 and is_float(source.dtype):
            small = f"({x}).to(tl.float32).to(tl.{d.pick(self.fp8)})"
            if self.plain and w.dtype in BITS and not is_float(w.dtype):
                return in_range(small, "float8", w.dtype)
            return f"{small}.to(tl.float32).to(tl.{w.dtype})"
        if kind == 2 and is_float(w.dtype) and w.dtype in ("float16", "bfloat16"):
            y = self.expr(Want("float32", w.shape, False), depth - 1)
            return f'({y}).to(tl.{w.dtype}, fp_downcast_rounding="rtz")'
        if self.plain and is_float(source.dtype) and w.dtype in INTS:
            return in_range(x, source.dtype, w.dtype)
        return f"({x}).to(tl.{w.dtype})"

    # ---- all -------------------------------------------------------------------------

    def across(self, w: Want, depth: int) -> str:
        raise NotImplementedError

    def called(self, w: Want, depth: int) -> str:
        """A helper's result."""
        d = self.d
        a, b = self.pair(w, depth)
        forms = [f"larger({a}, {b})"]
        if not self.plain:
            forms.append(f"keyed({a}, second={self.expr(w, depth - 1)})")
            forms.append(f"Pair({a}, {a}).swapped().a")
        if w.shape:
            c = self.expr(w, depth - 1)
            forms.append(
                f"tl.map_elementwise({d.pick(['branchy', 'larger'])}, {a}, {c})"
            )
            if not self.plain:
                forms.append(f"tl.map_elementwise(halves, {a}, {c})[{d.below(2)}]")
            if not self.plain and w.shape[-1] % 2 == 0:
                forms.append(f"tl.map_elementwise(crossed, {a}, {c}, pack=2)")
        forms += [f"{v}({a})" for v, want in self.closures if want == w]
        if not w.shape and not self.plain:
            forms += [f"pick({a}, {b}, n)", f"apart({a}, {b})"]
        if w.dtype in SIGNED:
            forms.append(f"twice({a}, {d.between(0, 3)})")
        if is_float(w.dtype) and w.whole:
            return clamped(d.pick(forms), w.dtype)
        return f"{d.pick(forms)}.to(tl.{w.dtype})"

    def expr(self, w: Want, depth: int = 2) -> str:
        roll = self.d.below(100)
        if depth <= 0 or roll < 15:
            return self.leaf(w)
        if roll < 50:
            return self.arith(w, depth)
        if roll < 62:
            return self.cast(w, depth)
        if roll < 72:
            c = self.expr(Want("int1", w.shape), depth - 1)
            a, b = self.expr(w, depth - 1), self.expr(w, depth - 1)
            if not w.shape and self.d.chance(50):
                return f"({a} if {c} else {b})"
            return f"tl.where({c}, {a}, {b})"
        if roll < 77:
            return self.called(w, depth)
        return self.across(w, depth)
