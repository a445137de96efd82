"""Random kernels as source text, for test_random_kernels.py.

A kernel is a few statements over typed variables: blocks of one shape of a few, scalars,
of any element type. It reads three arrays and writes two: its integers and its floats.

Everything is exact on purpose, so that the targets must agree bit for bit: floats hold
small whole numbers and are clamped after every operation, so sums and products never
round and their order does not matter. What is only accurate to a bound (exp, a quotient)
goes to the third output, which is compared with a tolerance.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTS = SIGNED + UNSIGNED
FLOATS = ["float16", "bfloat16", "float32", "float64"]
SHAPES: list[tuple[int, ...]] = [(), (16,), (64,), (16, 32), (4, 8), (2, 4, 8), (1, 16)]
N_IN = 4096

HELPERS = """
@tegula.jit
def pick(a, b, n):
    if n > 5:
        return a
    if n % 2 == 0:
        return b
    for i in range(n):
        if i == 3:
            return a
    return b


@tegula.jit
def both(a, b):
    return b, a


@tegula.jit
def larger(a, b):
    return tl.where(a > b, a, b)
"""


@dataclass
class Var:
    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass
class Maker:
    seed: int
    lines: list[str] = field(default_factory=list)
    vars: list[Var] = field(default_factory=list)
    indent: int = 1
    n_names: int = 0
    in_loop: int = 0

    def __post_init__(self) -> None:
        self.r = random.Random(self.seed)

    # ---- expressions: each has exactly the type and shape asked for ----------------------

    def any_dtype(self) -> str:
        return self.r.choice(INTS + FLOATS + FLOATS + ["int32", "float32", "int1"])

    def constant(self, dtype: str) -> str:
        if dtype == "int1":
            return self.r.choice(["True", "False"])
        low = 0 if dtype.startswith("u") else -9
        return str(self.r.randint(low, 9)) + (".0" if dtype in FLOATS else "")

    def index(self, shape: tuple[int, ...]) -> str:
        """int32, row-major position in the shape."""
        if not shape:
            return str(self.r.randint(0, 63))
        parts = []
        step = 1
        for d in reversed(range(len(shape))):
            at = ", ".join(":" if k == d else "None" for k in range(len(shape)))
            parts.append(f"tl.arange(0, {shape[d]})[{at}] * {step}")
            step *= shape[d]
        return "(" + " + ".join(parts) + ")"

    def full(self, dtype: str, shape: tuple[int, ...]) -> str:
        c = self.constant(dtype)
        return f"tl.full({list(shape)}, {c}, tl.{dtype})"

    def load(self, dtype: str, shape: tuple[int, ...]) -> str:
        at = f"({self.index(shape)} * {self.r.choice([1, 1, 1, 2, 3])})"
        if _size(shape) * 3 > N_IN or self.r.random() < 0.3:
            at = f"(({at} + {self.simple('int32', shape)}) & {N_IN - 1})"
        source = "xf" if dtype in FLOATS else "xi"
        mask = ""
        if self.r.random() < 0.5:
            limit = f"({self.index(shape)} < {self.r.randint(0, _size(shape) + 3)})"
            mask = f", mask={self.r.choice([limit, self.simple('int1', shape)])}"
            if self.r.random() < 0.6:
                mask += (
                    f", other={self.constant('int32' if source == 'xi' else 'float32')}"
                )
        return f"tl.load({source} + {at}{mask}).to(tl.{dtype})"

    def simple(self, dtype: str, shape: tuple[int, ...]) -> str:
        same = [v.name for v in self.vars if v.dtype == dtype and v.shape == shape]
        return self.r.choice([*same, self.full(dtype, shape)])

    def leaf(self, dtype: str, shape: tuple[int, ...]) -> str:
        same = [v for v in self.vars if v.dtype == dtype and v.shape == shape]
        near = [
            v
            for v in self.vars
            if v.dtype == dtype
            and v.shape
            and len(v.shape) == len(shape)
            and all(a in (b, 1) for a, b in zip(v.shape, shape, strict=True))
        ]
        roll = self.r.random()
        if same and roll < 0.6:
            return self.r.choice(same).name
        if near and roll < 0.7:
            return f"tl.broadcast_to({self.r.choice(near).name}, {list(shape)})"
        if roll < 0.85:
            return self.load(dtype, shape)
        return self.full(dtype, shape)

    def arith(self, dtype: str, shape: tuple[int, ...], depth: int) -> str:
        a, b = (self.expr(dtype, shape, depth - 1) for _ in "ab")
        if dtype == "int1":
            kind = self.r.choice(INTS + FLOATS)
            x, y = (self.expr(kind, shape, depth - 1) for _ in "ab")
            op = self.r.choice(["<", "<=", "==", "!=", ">", ">="])
            chain = self.expr(kind, shape, 0)
            return self.r.choice(
                [
                    f"({x} {op} {y})",
                    f"({x} {op} {y})",
                    f"({a} & {b})",
                    f"({a} | {b})",
                    f"({a} ^ {b})",
                    f"(~{a})",
                    f"({x} {op} {y} <= {chain})",
                ]
            )
        if dtype in FLOATS:
            op = self.r.choice(["+", "-", "*"])
            e = self.r.choice(
                [
                    f"{a} {op} {b}",
                    f"tl.minimum({a}, {b})",
                    f"tl.maximum({a}, {b})",
                    f"tl.abs({a}) - {b}",
                    f"-{a}",
                    f"{a} * {self.constant(dtype)}",
                ]
            )
            return f"tl.minimum(tl.maximum({e}, -16), 16).to(tl.{dtype})"
        op = self.r.choice(["+", "-", "*", "&", "|", "^"])
        unsigned = dtype.startswith("u")
        e = self.r.choice(
            [
                f"({a} {op} {b})",
                f"({a} {op} {b})",
                f"({a} // (({b} & 7) + 1))",
                f"({a} % (({b} & 15) + 1))",
                f"({a} << ({b} & 7))",
                f"({a} >> ({b} & 7))",
                f"(~{a})",
                f"(-{a})" if not unsigned else f"({a} ^ 5)",
                f"tl.minimum({a}, {b})",
                f"tl.maximum({a}, {b})",
                f"tl.abs({a})" if not unsigned else f"({a} & 77)",
            ]
        )
        return f"({e}).to(tl.{dtype})"

    def cast(self, dtype: str, shape: tuple[int, ...], depth: int) -> str:
        source = self.any_dtype()
        x = self.expr(source, shape, depth - 1)
        if dtype in FLOATS and source in INTS:
            return f"(({x}) & 15).to(tl.{dtype})"
        if dtype in UNSIGNED and source in FLOATS:
            return f"tl.abs({x}).to(tl.{dtype})"
        if dtype in FLOATS and self.r.random() < 0.2:
            return f"({x}).to(tl.float32).to(tl.float8e5).to(tl.{dtype})"
        return f"({x}).to(tl.{dtype})"

    def whole(self, dtype: str, shape: tuple[int, ...], depth: int) -> str:
        """Something across elements."""
        kind = self.r.randrange(8)
        if kind == 0 and len(shape) < 3:  # a reduction
            axis = self.r.randint(0, len(shape))
            source = [*shape]
            source.insert(axis, self.r.choice([2, 8, 16]))
            x = self.expr(dtype, tuple(source), depth - 1)
            fn = self.r.choice(["sum", "max", "min"])
            if dtype == "int1":
                return f"(tl.{fn}(({x}).to(tl.int32), axis={axis}) > 0)"
            if dtype in FLOATS:
                e = f"tl.{fn}(({x}).to(tl.float32), axis={axis})"
                return f"tl.minimum(tl.maximum({e}, -16), 16).to(tl.{dtype})"
            if dtype in UNSIGNED and fn != "sum":
                x = f"({x} & 15)"
            return f"tl.{fn}({x}, axis={axis}).to(tl.{dtype})"
        if kind == 1 and len(shape) == 1 and dtype in INTS:
            x = self.expr(dtype, shape, depth - 1)
            fn = self.r.choice(["cumsum", "cumsum", "cumprod"])
            rev = self.r.choice(["", ", reverse=True"])
            return f"tl.{fn}({x}, 0{rev}).to(tl.{dtype})"
        if kind == 2 and len(shape) == 2:
            x = self.expr(dtype, shape[::-1], depth - 1)
            return f"tl.trans({x})"
        if kind == 3 and shape:
            n = 1
            for d in shape:
                n *= d
            others = [s for s in SHAPES if s and s != shape and _size(s) == n]
            flat = self.r.choice([*others, (n,)])
            return f"tl.reshape({self.expr(dtype, flat, depth - 1)}, {list(shape)})"
        if kind == 4 and shape:
            x = self.expr(dtype, shape, depth - 1)
            i = self.expr("int32", shape, depth - 1)
            return f"tl.gather({x}, ({i}) & {shape[-1] - 1}, {len(shape) - 1})"
        if kind == 5 and len(shape) in (1, 2):
            big = (*shape[:-1], shape[-1] * 2)
            x = self.expr(dtype, big, depth - 1)
            lead = ":, " if len(shape) == 2 else ""
            how = self.r.choice([f":{shape[-1]}", f"{shape[-1]}:", "::2", "1::2"])
            return f"({x})[{lead}{how}]"
        if kind == 6 and len(shape) == 1:
            x = self.expr("int32", (8, *shape), depth - 1)
            arg = self.r.choice(["argmax", "argmin"])
            return f"(tl.{arg}({x}, 0) + {self.expr('int32', shape, 0)}).to(tl.{dtype})"
        return self.arith(dtype, shape, depth)

    def expr(self, dtype: str, shape: tuple[int, ...], depth: int = 2) -> str:
        roll = self.r.random()
        if depth <= 0 or roll < 0.15:
            return self.leaf(dtype, shape)
        if roll < 0.5:
            return self.arith(dtype, shape, depth)
        if roll < 0.62:
            return self.cast(dtype, shape, depth)
        if roll < 0.75:
            c = self.expr("int1", shape, depth - 1)
            a, b = (self.expr(dtype, shape, depth - 1) for _ in "ab")
            return f"tl.where({c}, {a}, {b})"
        if roll < 0.8:
            a, b = (self.expr(dtype, shape, depth - 1) for _ in "ab")
            return f"larger({a}, {b}).to(tl.{dtype})"
        return self.whole(dtype, shape, depth)

    # ---- statements ------------------------------------------------------------------

    def put(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def new(self, dtype: str, shape: tuple[int, ...]) -> Var:
        v = Var(f"v{self.n_names}", dtype, shape)
        self.n_names += 1
        return v

    def assign(self) -> None:
        v = self.new(self.any_dtype(), self.r.choice(SHAPES))
        self.put(f"{v.name} = {self.expr(v.dtype, v.shape)}")
        self.vars.append(v)

    def change(self) -> None:
        if not self.vars:
            return self.assign()
        v = self.r.choice(self.vars)
        self.put(f"{v.name} = {self.expr(v.dtype, v.shape)}")

    def suite(self, n: int) -> None:
        """Statements of a branch or a loop: what they define is gone after it."""
        self.indent += 1
        known = len(self.vars)
        for _ in range(n):
            self.statement(nested=True)
        del self.vars[known:]
        self.indent -= 1

    def condition(self) -> str:
        return self.r.choice(
            [
                f"n > {self.r.randint(0, 9)}",
                f"n % 3 == {self.r.randint(0, 2)}",
                self.expr("int1", ()),
            ]
        )

    def branch(self) -> None:
        self.put(f"if {self.condition()}:")
        self.suite(self.r.randint(1, 2))
        if self.in_loop and self.r.random() < 0.4:
            self.indent += 1
            self.put(self.r.choice(["break", "continue"]))
            self.indent -= 1
        if self.r.random() < 0.5:
            self.put("else:")
            self.suite(1)

    def loop(self) -> None:
        i = f"i{self.n_names}"
        self.n_names += 1
        how = self.r.choice(
            [
                "range(n)",
                "range(0, n, 2)",
                "range(n, 0, -1)",
                "tl.static_range(3)",
                "tl.range(0, 5, num_stages=2)",
            ]
        )
        self.put(f"for {i} in {how}:")
        self.vars.append(Var(f"({i} + 0)", "int32", ()))
        self.in_loop += 1
        self.suite(self.r.randint(1, 3))
        self.in_loop -= 1
        self.vars = [v for v in self.vars if v.name != f"({i} + 0)"]

    def while_loop(self) -> None:
        k = f"k{self.n_names}"
        self.n_names += 1
        self.put(f"{k} = 0")
        self.put(self.r.choice([f"while {k} < n:", f"while ({k} < 6) & (n != 3):"]))
        self.indent += 1
        self.put(f"{k} += 1")
        self.indent -= 1
        self.in_loop += 1
        self.suite(self.r.randint(1, 2))
        self.in_loop -= 1

    def dot(self) -> None:
        kind = self.r.choice(["float16", "bfloat16", "float32", "int8"])
        m, n, k = (self.r.choice([16, 32]) for _ in "mnk")
        k = max(k, 32 if kind == "int8" else 16)
        a = self.expr(kind, (m, k), 1)
        b = self.expr(kind, (k, n), 1)
        if kind == "int8":
            v = self.new("int32", (m, n))
            self.put(f"{v.name} = tl.dot({a}, {b}, out_dtype=tl.int32)")
        else:
            v = self.new("float32", (m, n))
            how = ', input_precision="ieee"' if kind == "float32" else ""
            self.put(f"{v.name} = tl.dot({a}, {b}{how})")
            self.put(f"{v.name} = tl.minimum(tl.maximum({v.name}, -16), 16)")
        self.vars.append(v)

    def swap(self) -> None:
        pairs = [
            (a, b)
            for a in self.vars
            for b in self.vars
            if a.name != b.name
            and a.name[0] != "(" != b.name[0]
            and (a.dtype, a.shape) == (b.dtype, b.shape)
        ]
        if not pairs:
            return self.assign()
        a, b = self.r.choice(pairs)
        self.put(f"{a.name}, {b.name} = both({a.name}, {b.name})")
        self.put(f"{a.name} = pick({a.name}, {b.name}, n)")

    def statement(self, nested: bool = False) -> None:
        roll = self.r.random()
        if self.indent > 3 or roll < 0.35:
            settable = [v for v in self.vars if v.name[0] != "("]
            if nested and settable and self.r.random() < 0.7:
                v = self.r.choice(settable)
                self.put(f"{v.name} = {self.expr(v.dtype, v.shape)}")
            else:
                self.assign()
        elif roll < 0.55:
            self.branch()
        elif roll < 0.7:
            self.loop()
        elif roll < 0.78:
            self.while_loop()
        elif roll < 0.88:
            self.dot()
        else:
            self.swap()

    def make(self, n_statements: int) -> str:
        for _ in range(3):
            self.assign()
        for _ in range(n_statements):
            self.statement()
        at = {"oi": 0, "of": 0, "oa": 0}
        for v in self.vars:
            out, t = ("of", "float64") if v.dtype in FLOATS else ("oi", "int64")
            size = _size(v.shape)
            where = (
                f"{out} + {at[out]} + {self.index(v.shape)}"
                if v.shape
                else f"{out} + {at[out]}"
            )
            self.put(f"tl.store({where}, {v.name}.to(tl.{t}))")
            at[out] += size
            if v.dtype in ("float32", "float64") and self.r.random() < 0.5:
                e = self.r.choice(
                    [
                        "tl.exp({0} * 0.125)",
                        "1.0 / ({0} + 40.0)",
                        "tl.sqrt({0} + 17.0)",
                        "tl.sin({0})",
                        "tl.erf({0} * 0.25)",
                        "tl.log2({0} + 20.0)",
                    ]
                )
                where = (
                    f"oa + {at['oa']} + {self.index(v.shape)}"
                    if v.shape
                    else f"oa + {at['oa']}"
                )
                self.put(f"tl.store({where}, ({e.format(v.name)}).to(tl.float64))")
                at["oa"] += size
        head = [
            "import tegula",
            "import tegula.language as tl",
            HELPERS,
            "",
            "@tegula.jit",
            "def kernel(xi, xf, oi, of, oa, n):",
        ]
        return "\n".join(head + self.lines) + "\n"


def _size(shape: tuple[int, ...]) -> int:
    n = 1
    for d in shape:
        n *= d
    return n


def source(seed: int, n_statements: int) -> str:
    return Maker(seed).make(n_statements)
