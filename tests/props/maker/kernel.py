"""A whole kernel: statements, then everything they made is stored."""

from __future__ import annotations

from typing import Any

from .case import Case
from .draw import Draw
from .scope import FP8, INTS, Var, is_float, size
from .stmt import Stmt

HELPERS = """\
import tegula
import tegula.language as tl
from tegula.language.extra import libdevice


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


@tegula.jit
def keyed(first, *, second, least=0):
    if least > 0:
        return first
    return second


@tegula.jit
def twice(a, times: tl.constexpr):
    for _ in tl.static_range(times):
        a = a + a
    return a


@tegula.jit
def downwards(a, steps: tl.constexpr):
    if steps == 0:
        return a
    return downwards(a + odd(steps), steps - 1)


@tegula.constexpr_function
def odd(n):
    return 2 * n + 1


@tegula.jit
def plus(a, b):
    return a + b


@tegula.jit
def first(a, b):
    return a


@tegula.jit
def affine(a, b, c, d):
    return a * c, b * c + d


@tegula.jit
def spread(a, b, c, x, y, z):
    return tl.minimum(a, x).to(a.dtype), tl.maximum(b, y).to(b.dtype), c + z


@tegula.jit
def crossed(a, b, c, d):
    if a > c:
        a = d
    return a, b - c


@tegula.jit
def halves(a, b):
    if a < b:
        return b, a
    return a, b


@tegula.jit(noinline=True)
def apart(a, b):
    return a * 2 - b


@tegula.jit
def segments(a, f, b, g):
    return tl.where(g != 0, b, a + b), f | g


@tegula.jit
def last(a, f, b, g):
    return tl.where(g != 0, b, a), f | g


@tegula.jit
def branchy(a, b):
    if a > b:
        return b
    c = a
    if b == 3:
        c = b + b
    elif a < b:
        c = a + b
    return c


@tegula.aggregate
class Pair:
    a: tl.tensor
    b: tl.tensor

    @tegula.jit
    def swapped(self):
        return Pair(self.b, self.a)


@tegula.jit
def top(a, i, b, j):
    left = (a > b) | ((a == b) & (i < j))
    return tl.where(left, a, b), tl.where(left, i, j)

"""
# Only accurate to a bound; {} is a float32 or float64 between -16 and 16.
NEAR = [
    "tl.exp({} * 0.125)",
    "1.0 / ({} + 40.0)",
    "tl.sqrt({} + 17.0)",
    "tl.sin({})",
    "tl.erf({} * 0.25)",
    "tl.log2({} + 20.0)",
    "tl.cos({} * 0.5)",
    "tl.log({} + 17.5)",
    "tl.exp2({} * 0.25)",
    "tl.rsqrt({} + 18.0)",
    "tl.sigmoid({} * 0.5)",
    "tl.fdiv({}, {} + 99.0)",
    "libdevice.tanh({} * 0.125)",
    "libdevice.atan({})",
    "libdevice.log1p({} + 17.0)",
    "libdevice.pow({} + 17.5, 0.75)",
    "libdevice.cbrt({})",
]


NUMBERS = [*INTS, "float16", "bfloat16", "float32", "float64", "int1"]


class Kernel(Stmt):
    def numbers(self, case: Case) -> list[tuple[Var, str]]:
        """More scalars of the launch: of types that are told, or found out."""
        d = self.d
        found: list[tuple[Var, str]] = []
        value: Any
        for k in range(d.between(1, 4)):
            dtype, name = d.pick(NUMBERS), f"s{k}"
            if d.chance(25):
                value, typed, dtype = self.edge(d.pick(["int32", "int64"])), "", "int64"
                value = d.pick([value, 1, 16, 0, 2**31])
            elif dtype == "int1":
                value, typed = d.pick([True, False]), ": bool"
            elif dtype in INTS:
                value, typed = self.edge(dtype), f": tl.{dtype}"
            else:
                value, typed = d.pick([1.0, -3.0, 0.0, 7.0]), f": tl.{dtype}"
            case.options[name] = value
            found.append((Var(name, dtype, (), fixed=True), typed))
        return found

    def store(self, out: str, used: dict[str, int], text: str, shape: tuple) -> None:
        d, start = self.d, used.get(out, 0)
        used[out] = start + size(shape)
        kind = d.below(10)
        if len(shape) == 2 and kind > 7:
            block = (
                f"{out} + {start}, {shape}, ({shape[1]}, 1), (0, 0), {shape}, (1, 0)"
            )
            self.put(
                f"tl.store(tl.make_block_ptr({block}), {text}, boundary_check=(0, 1))"
            )
            return
        at = f"{out} + {start}"
        at += f" + {self.index(shape)}" if shape else ""
        more = f", mask={self.mask(shape)}" if kind == 7 else ""
        self.put(f"tl.store({at}, {text}{more})")

    def results(self, used: dict[str, int]) -> None:
        d = self.d
        for v in self.vars:
            if d.chance(40):  # as it is
                name = self.param(f"o_{v.dtype}", "out", v.dtype, v.whole, 0).name
                self.store(name, used, v.name, v.shape)
            else:
                out, wide = ("of", "float64") if is_float(v.dtype) else ("oi", "int64")
                self.param(out, "out", wide, v.whole, 0)
                self.store(out, used, f"{v.name}.to(tl.{wide})", v.shape)
            if v.dtype in ("float32", "float64") and v.whole and d.chance(50):
                self.param("oa", "near", "float64", False, 0)
                e = d.pick(NEAR).replace("{}", v.name)
                self.store("oa", used, f"({e}).to(tl.float64)", v.shape)
            if v.dtype in INTS and v.shape and d.chance(10):
                self.param("oa", "near", "float64", False, 0)
                e = f"tl.rand(7, {v.name}.to(tl.int32) & 255)"
                self.store("oa", used, f"({e}).to(tl.float64)", v.shape)

    def make(self, large: int = 0) -> Case:
        d = self.d
        case = Case("", n=d.below(9), seed=d.below(1000), grid=d.pick([1, 1, 2, 3, 4]))
        self.grid = case.grid
        scalars = [("n0", "int32"), ("pid", "int32"), ("big", "int64")]
        given = [Var(name, dtype, (), fixed=True) for name, dtype in scalars]
        given.append(Var("scale", "float32", (), whole=False, fixed=True))
        numbers = self.numbers(case) if d.chance(25) and not self.plain else []
        given += [v for v, _ in numbers]
        self.vars += given
        is_large = bool(large) and d.chance(large)
        self.is_usual = is_large and d.chance(60)
        for _ in range(d.between(1, 3) if not self.is_usual else 0):
            self.assign()
        most = 14 if d.chance(10) else 6
        for _ in range(d.between(1, most) if not self.is_usual else d.below(2)):
            self.statement()
        if d.chance(10) and not self.plain:
            self.put(f"if {self.condition()}:")
            self.put("    return")
        if is_large:
            self.large_loop()
        elif d.chance(3) and not self.plain:
            self.huge()
        del self.vars[: len(given)]
        used = self.stored
        self.results(used)
        # An argument that is 1 is a constant; n0 is not.
        head = ["    pid = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)"]
        head.append("    n0 = tl.full([], 0, tl.int32) + n")
        for name, n in used.items():
            self.params[name].n = n * case.grid
            head.append(f"    {name} += pid * {n}")
        for p in self.params.values():
            if p.role == "work" and not p.tensor:
                p.n = self.n_work * case.grid
                head.append(f"    {p.name} += pid * {self.n_work}")
        case.rows = 2 if case.grid == 4 else 1
        case.params = list(self.params.values())
        names = [p.name for p in case.params]
        if self.is_shifted:
            names_after = "n, big, scale, shift"
            case.options["shift"] = d.pick([16, 0, -16, -64, -256, 48, 3, -2])
        else:
            names_after = "n, big, scale"
        names_after += "".join(f", {v.name}{typed}" for v, typed in numbers)
        head += [
            f"    {v.name} += tl.full([], 0, tl.int64)" for v, t in numbers if not t
        ]
        first = f"def kernel({', '.join(names)}, {names_after}, C: tl.constexpr):"
        body = "\n".join(["@tegula.jit", first, *typed(case), *head, *self.lines])
        case.text = f"{HELPERS}\n{body}\n"
        case.big = d.pick([2**33, 2**40 + 16, -(2**35)])
        case.options |= {"C": d.pick([1, 2, 5]), "num_warps": d.pick([4, 1, 2, 8])}
        if d.chance(40):
            case.options["num_stages"] = d.pick([1, 2, 3, 4])
        if is_large:
            case.options["num_warps"] = d.pick([4, 8, 4, 8, 2])
        chip = d.pick(["sm_80", "sm_90a", "sm_75", "sm_100a", "sm_120a"])
        case.targets = ["cpu", f"emu:{chip}"]
        if chip in ("sm_90a", "sm_100a", "sm_120a") and d.chance(25) and not self.plain:
            case.options["num_ctas"] = d.pick([2, 4])
        case.streams = d.chance(20)
        if d.chance(30):
            case.emu_seed = d.between(1, 99)
        return case


def typed(case: Case) -> list[str]:
    """Types that NumPy has not come as bits of their size."""
    odd = [p for p in case.params if p.dtype in ("bfloat16", *FP8) and not p.tensor]
    return [f"    {p.name} = {p.name}.to(tl.pointer_type(tl.{p.dtype}))" for p in odd]


def make(draw: Draw, plain: bool = False, large: int = 0) -> Case:
    """A kernel; plain: of nothing that Triton has not, or leaves undefined; large: in so
    many of a hundred is a loop of products that warpgroups take."""
    return Kernel(draw, plain).make(large)
