"""Statements: what is assigned, branches, loops, dots."""

from __future__ import annotations

from .assembly import Assembly
from .expr import clamped
from .scope import BITS, FP8, INTS, N_IN, Var, Want, is_float, size

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
]


# Of dot_scaled: how the elements come.
SCALED = ["e2m1", "e4m3", "e5m2", "bf16", "fp16"]
TYPE_OF = {
    "e4m3": "float8e4nv",
    "e5m2": "float8e5",
    "bf16": "bfloat16",
    "fp16": "float16",
}


class Stmt(Assembly):
    def assign(self) -> None:
        w = self.some_want()
        self.bind(self.expr(w), w)

    def change(self) -> None:
        settable = [v for v in self.vars if not v.fixed]
        if not settable:
            return self.assign()
        v = self.d.pick(settable)
        w = Want(v.dtype, v.shape, v.whole)
        if v.dtype in INTS and self.d.chance(25):
            op = self.d.pick(["+=", "-=", "*=", "&=", "|=", "^="])
            self.put(f"{v.name} {op} {self.constant(v.dtype)}")
        else:
            self.put(f"{v.name} = {self.expr(w)}")

    def suite(self, n: int) -> None:
        """Statements of a branch or a loop: what they define is gone after it."""
        self.indent += 1
        known, functions = len(self.vars), len(self.closures)
        for _ in range(n):
            self.statement(nested=True)
        del self.vars[known:], self.closures[functions:]
        self.indent -= 1

    def condition(self) -> str:
        d = self.d
        kind = d.below(5)
        if kind == 0:
            return f"n > {d.between(0, 9)}"
        if kind == 1:
            return f"n % 3 == {d.between(0, 2)}"
        if kind == 2:
            return f"pid == {d.between(0, 1)}"
        if kind == 3:
            return f"C > {d.between(0, 6)}"  # a constant
        return self.expr(Want("int1", ()))

    def branch(self) -> None:
        d = self.d
        self.put(f"if {self.condition()}:")
        self.suite(d.between(1, 2))
        if self.in_loop and d.chance(40) and not self.plain:
            self.put(f"    {d.pick(['break', 'continue'])}")
        if d.chance(20):
            self.put(f"elif {self.condition()}:")
            self.suite(1)
        if d.chance(50):
            self.put("else:")
            self.suite(1)

    # ---- loops -----------------------------------------------------------------------

    def body(self, n: int, counter: str = "") -> None:
        if counter:
            self.vars.append(Var(f"({counter} + 0)", "int32", (), fixed=True))
        self.in_loop += 1
        self.suite(n)
        self.in_loop -= 1
        if counter:
            self.vars = [v for v in self.vars if v.name != f"({counter} + 0)"]

    def loop(self) -> None:
        i = self.fresh("i")
        how = [
            "range(n)",
            "range(3)",
            "tl.static_range(3)",
            "range(0, n, 2)",
            "range(n, 0, -1)",
            "range(pid, n, C)",
            "tl.range(0, 5, num_stages=2)",
            "tl.range(0, n, num_stages=3)",
            "tl.range(n, loop_unroll_factor=2)",
            "range(0, n.to(tl.int64))",
            "tl.range(n, flatten=True, disallow_acc_multi_buffer=True)",
            "tl.range(pid, 3, num_stages=2, loop_unroll_factor=3)",
        ]
        kind = self.d.pick(how)
        self.put(f"for {i} in {kind}:")
        # The counter of a 64-bit loop, or of an unrolled one, is no int32 tensor.
        usable = "int64" not in kind and "static" not in kind
        self.body(self.d.between(1, 3), i if usable else "")

    def while_loop(self) -> None:
        k = self.fresh("k")
        self.put(f"{k} = 0")
        kind = self.d.below(2 if self.plain else 3)
        head = [f"while {k} < n:", f"while ({k} < 6) & (n != 3):", "while True:"][kind]
        self.put(head)
        self.put(f"    {k} += 1")
        if kind == 2:
            self.put(f"    if {k} > n:")
            self.put("        break")
        self.body(self.d.between(1, 2))

    def walk(self) -> None:
        """A pointer that a loop carries."""
        d = self.d
        w = Want("float32", d.pick([s for s in self.shapes if s]))
        source = self.inputs[1]  # whole float32
        # At most 8 steps, within the array.
        whole = size(w.shape) if 9 * size(w.shape) <= 2 * N_IN else 8
        step, p = d.pick([whole, 16, 1]), self.fresh("p")
        v = self.bind(f"tl.zeros({list(w.shape)}, tl.float32)", w)
        self.put(f"{p} = {source.name} + {self.index(w.shape)}")
        count = d.pick(["n", "3", "4"])
        stages = d.pick(["", ", num_stages=2", ", num_stages=3"])
        self.put(f"for _ in tl.range(0, {count}{stages}):")
        more = f", mask={self.mask(w.shape)}, other=1.0" if d.chance(40) else ""
        self.put(f"    {v.name} += tl.load({p}{more})")
        self.put(f"    {p} += {step}")
        self.put(f"{v.name} = {clamped(v.name, 'float32')}")

    # ---- dots ------------------------------------------------------------------------

    def factor(self, w: Want, limit: int) -> str:
        if w.dtype in FP8:
            return f"{clamped(self.expr(w.with_dtype('float32'), 1), w.dtype, limit)}"
        x = self.expr(w, 1)
        if is_float(w.dtype) and limit < 16:
            return clamped(x, w.dtype, limit)
        return x

    def closure(self) -> None:
        """A function of one block, which sees the variables around it."""
        w = self.some_want()
        name, x = (
            self.fresh("f"),
            Var(self.fresh("x"), w.dtype, w.shape, w.whole, fixed=True),
        )
        known = len(self.vars)
        self.vars.append(x)
        text = self.expr(w)
        if self.d.chance(50):
            self.put(f"{name} = lambda {x.name}: {text}")
        else:
            self.put(f"def {name}({x.name}):")
            self.put(f"    return {text}")
        del self.vars[known:]
        self.closures.append((name, w))

    def dot(self) -> None:
        d = self.d
        kind, acc, how, limit = d.pick(DOTS[:10] if self.plain else DOTS)
        m, n = d.pick([16, 32, 64, 8, 1, 2]), d.pick([16, 32, 64, 8, 4])
        least = 32 if BITS.get(kind, 8) == 8 else 16  # of a K in Triton
        k = d.pick([16, 32, 64]) if least == 16 else d.pick([32, 64])
        if self.is_odd and d.chance(50):
            m, n, k = d.pick([m, 3, 24, 48]), d.pick([n, 5, 40]), d.pick([k, 7, 20, 33])
        batch = (2,) if d.chance(10) else ()
        if batch and m * n > 512:
            m = n = 16
        a = self.factor(Want(kind, (*batch, m, k)), limit)
        b = self.factor(Want(kind, (*batch, k, n)), limit)
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

    # ---- the rest --------------------------------------------------------------------

    def swap(self) -> None:
        pairs = [
            (a, b)
            for a in self.vars
            for b in self.vars
            if a.name != b.name
            and not a.fixed
            and not b.fixed
            and (a.dtype, a.shape, a.whole) == (b.dtype, b.shape, b.whole)
        ]
        if not pairs:
            return self.assign()
        a, b = self.d.pick(pairs)
        self.put(f"{a.name}, {b.name} = both({a.name}, {b.name})")
        if self.d.chance(60) and not self.plain:
            self.put(f"{a.name} = pick({a.name}, {b.name}, n)")

    def unpack(self) -> None:
        """Several at once."""
        ws = [self.some_want() for _ in range(2)]
        names = [self.fresh() for _ in ws]
        texts = [self.expr(w, 1) for w in ws]
        self.put(f"{', '.join(names)} = {', '.join(texts)}")
        for name, w in zip(names, ws, strict=True):
            self.vars.append(Var(name, w.dtype, w.shape, w.whole))

    def over_tuple(self) -> None:
        w = self.some_want()
        v = self.bind(self.expr(w, 1), w)
        items = ", ".join(self.expr(w, 1) for _ in range(2))
        t = self.fresh("t")
        self.put(f"for {t} in ({items},):")
        self.vars.append(Var(t, w.dtype, w.shape, w.whole, fixed=True))
        self.put(f"    {v.name} = {self.expr(w, 1)}")
        self.vars.pop()

    def carried_tuple(self) -> None:
        """A tuple that a loop carries, of values of several kinds."""
        w, u = self.some_want(), self.some_want()
        v = self.bind(self.expr(w, 1), w)
        t, k = self.fresh("t"), self.fresh("k")
        self.put(f"{t} = ({v.name}, ({self.expr(u, 1)}, n))")
        self.put(f"for {k} in range({self.d.pick(['3', 'n & 3', 'C'])}):")
        parts = [
            Var(f"{t}[0]", w.dtype, w.shape, w.whole, fixed=True),
            Var(f"{t}[1][0]", u.dtype, u.shape, u.whole, fixed=True),
        ]
        self.vars += parts
        new = f"({self.expr(w, 1)}, ({self.expr(u, 1)}, {t}[1][1] + {k}))"
        self.put(f"    {t} = {new}")
        del self.vars[-2:]
        self.put(f"{v.name} = {t}[0]")
        self.bind(f"{t}[1][0]", u)

    def statement(self, nested: bool = False) -> None:
        d = self.d
        if self.indent > 3:
            return self.change()
        forms = [
            (10 if nested else 2, self.change),
            (8, self.assign),
            (6, self.branch),
            (6, self.loop),
            (3, self.while_loop),
            (4, self.dot),
            (3, self.dot_loop),
            (2, self.walk),
            (3, self.swap),
            (2, self.unpack),
            (1, self.over_tuple if not self.plain else self.assign),
            (1, self.carried_tuple if not self.plain else self.assign),
            (1, self.closure if not self.plain else self.assign),
            (3, self.round_trip),
            (3, self.atomic),
            (2, self.exchange),
        ]
        if not self.plain:
            forms += [(2, self.assembly), (2, self.dot_scaled)]
        d.weighted(forms)()
