"""What expressions and statements stand on: typed variables, lines, parameters.

Want is what an expression must be. Floats come in two kinds:

    whole   small whole numbers, -16 .. 16: sums and products of them are exact in every
            float type and order, so they may be added up across elements
    other   anything, NaN and infinities too. Arithmetic on them is rounded alike
            everywhere, as long as no order of additions is left open

Either way the targets must agree bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .case import Param
from .draw import Draw

SIGNED = ["int32", "int64", "int16", "int8"]
UNSIGNED = ["uint32", "uint8", "uint64", "uint16"]
INTS = SIGNED + UNSIGNED
FLOATS = ["float32", "float16", "bfloat16", "float64"]
FP8 = ["float8e5", "float8e4nv", "float8e4b15", "float8e4b8", "float8e5b16"]
BITS = {t: int("".join(c for c in t if c.isdigit())) for t in INTS + FLOATS}
ALL = ["int32", "float32", *SIGNED, *FLOATS, *UNSIGNED, "int1", "float32", "int32"]

Shape = tuple[int, ...]
SHAPES: list[Shape] = [
    (16,), (), (64,), (16, 32), (4, 8), (2, 4, 8), (1, 16), (128,), (32, 16), (8, 1),
    (1,), (2, 2), (4, 1, 16),
]  # fmt: skip
LARGE: list[Shape] = [(256,), (1024,), (64, 16), (32, 64), (8, 128), (2, 16, 32)]
# Sides that are no powers of two, which the compiler pads; small ones first.
ODD: list[Shape] = [
    (3,), (5, 6), (1, 7), (24,), (3, 2, 5), (12, 16), (100,), (16, 10), (7, 1), (4, 24),
]  # fmt: skip
N_IN = 4096  # an index into an input is below this; arrays are twice as long


def size(shape: Shape) -> int:
    return math.prod(shape)


def within(text: str, n: int) -> str:
    """The int text as an index below n."""
    return f"(({text}) & {n - 1})" if n & (n - 1) == 0 else f"((({text}) & 8191) % {n})"


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def in_range(text: str, source: str, dtype: str) -> str:
    """The float text, of type source, as integers of dtype: what they hold, no NaN."""
    bits = BITS[dtype]
    top = 2.0 ** (bits - 1 + (dtype in UNSIGNED))
    top -= 1 if bits <= 16 else top / 2**20  # exact as float32
    low = 0.0 if dtype in UNSIGNED else -top
    wide = "float64" if source == "float64" else "float32"
    return (
        f"tl.minimum(tl.maximum(({text}).to(tl.{wide}), {low}), {top}).to(tl.{dtype})"
    )


@dataclass(frozen=True)
class Want:
    dtype: str
    shape: Shape
    whole: bool = True  # of floats

    def with_shape(self, shape: Shape) -> Want:
        return Want(self.dtype, shape, self.whole)

    def with_dtype(self, dtype: str) -> Want:
        return Want(dtype, self.shape, self.whole)


@dataclass
class Var:
    name: str
    dtype: str
    shape: Shape
    whole: bool = True
    fixed: bool = False  # the counter of a loop

    def fits(self, w: Want) -> bool:
        good = self.whole or not w.whole or not is_float(w.dtype)
        return self.dtype == w.dtype and self.shape == w.shape and good


class Scope:
    has_nans = False  # among whole numbers, too

    def __init__(self, draw: Draw, plain: bool = False) -> None:
        self.d = draw
        self.plain = plain  # nothing that Triton has not, or leaves undefined
        self.fp8 = FP8[:2] if plain else FP8
        self.lines: list[str] = []
        self.closures: list[tuple[str, Want]] = []  # functions of one, in scope
        self.vars: list[Var] = []
        self.params: dict[str, Param] = {}
        self.grid = 1
        self.indent = 1
        self.in_loop = 0
        self.n_names = 3  # of an input: x0 .. x3
        self.stored: dict[str, int] = {}  # elements of a program in arrays, by name
        self.is_shifted = False  # the kernel has an argument "shift"
        self.n_work = 0  # elements of the scratch array that are in use
        self.shapes = list(SHAPES)
        if draw.chance(20):
            self.shapes += LARGE
        self.is_odd = draw.chance(40) and not plain
        if self.is_odd:
            self.shapes += ODD
        self.inputs: list[Param] = []
        kinds = [("int64", True), ("float32", True), ("float32", False)]
        kinds.append((draw.pick([*INTS, *FLOATS, "int1", *self.fp8]), draw.chance(50)))
        for i, (dtype, whole) in enumerate(kinds):
            self.inputs.append(self.param(f"x{i}", "in", dtype, whole, 2 * N_IN))

    def param(self, name: str, role: str, dtype: str, whole: bool, n: int) -> Param:
        """The parameter of that name; made the first time."""
        if name not in self.params:
            self.params[name] = Param(name, role, dtype, whole, n)
        p = self.params[name]
        p.n = max(p.n, n)
        return p

    def described(self, source: str, tensor: list) -> str:
        """The name of a parameter: a tensor of the host over the array source."""
        for p in self.params.values():
            if p.of == source and p.tensor == tensor:
                return p.name
        of = self.params[source]
        name = f"descriptor{sum(bool(p.tensor) for p in self.params.values())}"
        p = self.param(
            name, "in" if of.role == "in" else "work", of.dtype, of.whole, of.n
        )
        p.of, p.tensor = source, tensor
        return name

    def put(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def fresh(self, letter: str = "v") -> str:
        self.n_names += 1
        return f"{letter}{self.n_names}"

    def bind(self, text: str, w: Want) -> Var:
        """A new variable that is text, of w's type."""
        v = Var(self.fresh(), w.dtype, w.shape, w.whole)
        self.put(f"{v.name} = {text}")
        self.vars.append(v)
        return v

    def some_want(self) -> Want:
        dtype = self.d.pick(ALL)
        return Want(dtype, self.d.pick(self.shapes), not self.d.chance(40))

    def index(self, shape: Shape) -> str:
        """int32: the place of each element in row-major order."""
        if not shape:
            return "0"
        if len(shape) > 1 and self.d.chance(25):
            return f"tl.arange(0, {size(shape)}).reshape({list(shape)})"
        if len(shape) == 1 and not self.plain and self.d.chance(10):
            n = shape[0]
            line = f"tl.multiple_of(tl.arange(0, {n}), {self.d.pick([n, 8, 1])})"
            return f"tl.max_contiguous({line}, {self.d.pick([n, 4, 1])})"
        parts, step = [], 1
        for dim in reversed(range(len(shape))):
            at = ", ".join(":" if k == dim else "None" for k in range(len(shape)))
            line = f"tl.arange(0, {shape[dim]})"
            line += f"[{at}]" if len(shape) > 1 else ""
            parts.append(f"{line} * {step}" if step > 1 else line)
            step *= shape[dim]
        return "(" + " + ".join(reversed(parts)) + ")"

    def work(self, shape: Shape) -> int:
        """A place in the scratch array that is nobody else's."""
        at = self.n_work
        self.n_work += -(-size(shape) // 16) * 16
        return at
