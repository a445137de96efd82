"""Products: of blocks at hand, scaled ones, and loops that bring their factors."""

from __future__ import annotations

from .assembly import Assembly
from .expr import clamped
from .scope import BITS, FP8, N_IN, Want, is_float

# left and right; accumulator; options; how large a factor may be, for the sums to be
# exact in the accumulator
DOTS = [
    ("float16", "float32", "", 16),
    ("bfloat16", "float32", "", 16),
    ("float32", "float32", ', input_precision="ieee"', 16),
    ("float32", "float32", ', input_precision="tf32"', 16),
    ("float32", "float32", ', input_precision="tf32x3"', 16),
    ("int8", "int32", ", out_dtype=tl.int32", 127),
    ("float16", "float16", ", out_dtype=tl.float16", 4),
    ("float64", "float64", ", out_dtype=tl.float64", 16),
    ("float8e5", "float32", "", 4),
    ("float8e4nv", "float32", "", 4),
    ("float8e4b8", "float32", "", 4),
    ("float8e5b16", "float32", "", 4),
    ("float8e4b15", "float32", "", 1),
    ("float32", "float32", ', input_precision="bf16x3"', 16),
    ("float32", "float32", ', input_precision="bf16x6"', 16),
    ("float8e5", "float32", ", max_num_imprecise_acc=4", 4),
    ("float8e4nv", "float16", ", out_dtype=tl.float16", 2),
]


# Of dot_scaled: how the elements come.
SCALED = ["e2m1", "e4m3", "e5m2", "bf16", "fp16"]
TYPE_OF = {
    "e4m3": "float8e4nv",
    "e5m2": "float8e5",
    "bf16": "bfloat16",
    "fp16": "float16",
}


class Products(Assembly):
    def factor(self, w: Want, limit: int) -> str:
        if w.dtype in FP8:
            return f"{clamped(self.expr(w.with_dtype('float32'), 1), w.dtype, limit)}"
        x = self.expr(w, 1)
        if is_float(w.dtype) and limit < 16:
            return clamped(x, w.dtype, limit)
        return x

    def dot(self) -> None:
        d = self.d
        kind, acc, how, limit = d.pick(DOTS[:10] if self.plain else DOTS)
        m, n = d.pick([16, 32, 64, 8, 1, 2]), d.pick([16, 32, 64, 8, 4])
        least = 32 if BITS.get(kind, 8) == 8 else 16  # of a K in Triton
        k = d.pick([16, 32, 64]) if least == 16 else d.pick([32, 64])
        if self.is_odd and d.chance(50):
            m, n, k = d.pick([m, 3, 24, 48]), d.pick([n, 5, 40]), d.pick([k, 7, 20, 33])
        batch = (2,) if d.chance(10) else ()
        if batch and not self.plain and d.chance(20):
            batch = (2, 2)
        if batch and m * n > 512:
            m = n = 16
        a = self.factor(Want(kind, (*batch, m, k)), limit)
        right = kind
        if kind in FP8[:2] and not self.plain and d.chance(30):
            right = d.pick(FP8[:2])
        b = self.factor(Want(right, (*batch, k, n)), limit)
        w = Want(acc, (*batch, m, n))
        more = ""
        if d.chance(40):
            more = self.factor(w, 16)
            # Whether -0 and products that are -0 make 0 or -0 depends on the order.
            more = (
                f", acc={more}"
                if not is_float(acc)
                else f", acc=({more} + 0.0).to(tl.{acc})"
            )
        text = f"tl.dot({a}, {b}{more}{how})"
        v = self.bind(text, w)
        if is_float(acc):
            self.put(f"{v.name} = {clamped(v.name, acc)}")
        again = n >= least or not self.plain
        if (
            is_float(acc) and again and d.chance(30)
        ):  # the result is the next one's left operand
            c = self.factor(Want(kind, (*batch, n, 16)), limit)
            left = clamped(v.name, kind, limit)
            u = self.bind(f"tl.dot({left}, {c}{how})", Want(acc, (*batch, m, 16)))
            self.put(f"{u.name} = {clamped(u.name, acc)}")

    def scaled_side(
        self, rows: int, k: int, is_right: bool
    ) -> tuple[str, str, str, bool]:
        """Elements of a factor, scales or None, the format, and are bytes along K."""
        d = self.d
        kind, along_k = d.pick(SCALED), d.chance(70)
        side = [rows, k]
        if kind == "e2m1":
            side[1 if along_k else 0] //= 2
        shape = tuple(side[::-1] if is_right else side)
        if kind == "e2m1":
            x = self.expr(Want("uint8", shape), 1)
        else:
            x = self.factor(Want(TYPE_OF[kind], shape), 4)
            if kind[0] == "e" and d.chance(50):
                x = f"({x}).to(tl.uint8, bitcast=True)"
        scale = "None"
        if d.chance(75):  # 2^-1 .. 2^2
            scale = self.expr(Want("uint8", (rows, k // 32)), 1)
            scale = f"(({scale} & 3) + 126).to(tl.uint8)"
        return x, scale, kind, along_k

    def dot_scaled(self) -> None:
        """Elements and scales are such that every sum is exact, in sixteenths."""
        d = self.d
        m, n, k = d.pick([16, 32, 64]), d.pick([16, 32, 8]), d.pick([32, 64])
        a, s, kind, along = self.scaled_side(m, k, False)
        b, t, other, down = self.scaled_side(n, k, True)
        more = f", lhs_k_pack={along}, rhs_k_pack={down}"
        w = Want("float32", (m, n))
        if d.chance(40):
            more += f", acc={self.factor(w, 16)} + 0.0"
        text = f'tl.dot_scaled({a}, {s}, "{kind}", {b}, {t}, "{other}"{more})'
        v = self.bind(text, w)
        self.put(f"{v.name} = {clamped(f'tl.floor({v.name}) + 0.0', 'float32')}")

    def dot_loop(self) -> None:
        """A matmul's loop: what software pipelining is for."""
        d = self.d
        kind, acc, how, _ = d.pick(DOTS[:5])
        m, n = d.pick([16, 32, 64]), d.pick([16, 32])
        k = d.pick([16, 32])
        if self.is_odd and d.chance(50):
            m, n, k = d.pick([m, 24]), d.pick([n, 40, 7]), d.pick([k, 12, 20])
        source = self.param(f"m_{kind}", "in", kind, True, 3 * N_IN).name
        a, b, c = (self.fresh(letter) for letter in "abc")
        i, j, s = (f"tl.arange(0, {x})" for x in (m, n, k))
        wide = 128
        self.put(f"{a} = {source} + {i}[:, None] * {d.pick([64, 48])} + {s}[None, :]")
        if d.chance(50):
            self.put(
                f"{b} = {source} + {s}[:, None] * {d.pick([n, 64])} + {j}[None, :]"
            )
        else:
            self.put(
                f"{b} = {source} + {j}[None, :] * {d.pick([k, 64])} + {s}[:, None]"
            )
        v = self.bind(f"tl.zeros([{m}, {n}], tl.{acc})", Want(acc, (m, n)))
        count = d.pick(["3", "n", "4", "C"])
        stages = d.pick(["", ", num_stages=2", ", num_stages=3", ", num_stages=4"])
        t = self.fresh("t")
        self.put(f"for {t} in tl.range(0, {count}{stages}):")
        masks = ["", "", f", mask={s}[None, :] < {wide} - {t} * {k}, other=0.0"]
        masks.append(f", mask={i}[:, None] < {t} * 7 + n, other=1.0")
        x, y = self.fresh("x"), self.fresh("y")
        self.put(f"    {x} = tl.load({a}{d.pick(masks)})")
        self.put(f"    {y} = tl.load({b})")
        if d.chance(30):
            scaled = clamped(f"{x} * {self.constant(kind)}", kind)
            self.put(f"    {x} = {scaled}")
        if d.chance(70):
            self.put(f"    {v.name} = tl.dot({x}, {y}, {v.name}{how})")
        else:
            self.put(f"    {c} = tl.dot({x}, {y}{how})")
            self.put(f"    {v.name} += {clamped(c, acc)}")
        if d.chance(25):
            self.put(f"    {v.name} = {clamped(v.name, acc)}")
        self.put(f"    {a} += {d.pick([k, k * 2, 1])}")
        self.put(f"    {b} += {d.pick([k, n * k, 8])}")
        self.put(f"{v.name} = {clamped(v.name, acc)}")
