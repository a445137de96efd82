"""Random statements as Python means them: a kernel's text is run by Python, too.

    python tests/props/fuzz_python.py 0..999      the programs of these seeds

Everything else that runs random kernels compares what the compiler made with what it made,
so a statement that the frontend takes for another one is seen here alone. Python runs the
text with a `tl` of NumPy: scalars are numbers, blocks are arrays. Every value is cut to
ten bits, so nothing overflows.
"""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from maker import Draw

import tegula

N = 16
SCALARS, BLOCKS = "abcdef", "uvw"


class Program:
    """Functions, then a kernel that calls them."""

    def __init__(self, seed: int) -> None:
        self.d = Draw(seed)
        self.lines: list[str] = []
        self.scalars, self.blocks = list(SCALARS), list(BLOCKS)
        self.counters: list[str] = []  # which nobody assigns
        self.helpers: list[tuple[str, int]] = []
        self.n_names = self.depth = self.n_loops = 0
        self.can_return = ""
        for _ in range(self.d.between(1, 2)):
            self.function()
        self.kernel()

    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def fresh(self, letter: str) -> str:
        self.n_names += 1
        return f"{letter}{self.n_names}"

    # ---- expressions -----------------------------------------------------------------

    def scalar(self, depth: int = 2) -> str:
        d = self.d
        if depth <= 0 or d.chance(25):
            number = str(d.between(-9, 99))
            return d.pick([*self.scalars, *self.counters, number, "K"])
        a, b = self.scalar(depth - 1), self.scalar(depth - 1)
        forms = [
            f"(({a} {d.pick(['+', '-', '*', '&', '|', '^'])} {b}) & 1023)",
            f"(({a} {d.pick(['+', '-', '*', '&', '|', '^'])} {b}) & 1023)",
            f"({a} if {self.condition(depth - 1)} else {b})",
            f"(~{a} & 1023)",
            f"(-{a} & 1023)",
            f"((({a} & 63) << ({b} & 3)) & 1023)",
            f"(({a}) >> ({b} & 3))",
            f"(({self.condition(depth - 1)}) * 5 + 0)",
            f"({a}, {b})[{d.below(2)}]",
            f"({a}, ({b}, {a}))[1][{d.below(2)}]",
            f"min({a}, {b})",
            f"max({a}, {b})",
        ]
        if self.helpers and d.chance(30):
            return self.call(depth)
        return d.pick(forms)

    def call(self, depth: int) -> str:
        name, n = self.d.pick(self.helpers)
        args = [self.scalar(depth - 1) for _ in range(n)]
        if self.d.chance(30):
            args[-1] = f"p{n - 1}={args[-1]}"
        elif self.d.chance(30):
            args.pop()
        return f"{name}({', '.join(args)})"

    def condition(self, depth: int = 1) -> str:
        d = self.d
        a, b = self.scalar(depth - 1), self.scalar(depth - 1)
        simple = f"{a} {d.pick(['<', '<=', '>', '>=', '==', '!='])} {b}"
        kind = d.below(8)
        if kind == 0 and depth > 0:
            return f"({self.condition(0)} {d.pick(['and', 'or'])} {self.condition(0)})"
        if kind == 1:
            return f"(not {simple})"
        if kind == 2:
            return f"({d.below(9)} < {a} <= {b})"
        if kind == 3:
            return f"(K {d.pick(['<', '==', '>'])} {d.below(4)})"
        if kind == 4 and self.blocks:
            return f"(tl.sum({d.pick(self.blocks)}, 0) > {d.between(0, 9000)})"
        return f"({simple})"

    def block(self, depth: int = 2) -> str:
        d = self.d
        if depth <= 0 or d.chance(20):
            return d.pick(self.blocks)
        a, b = self.block(depth - 1), self.block(depth - 1)
        op = d.pick(["+", "-", "*", "&", "|", "^"])
        return d.pick(
            [
                f"(({a} {op} {b}) & 1023)",
                f"(({a} {op} {self.scalar(1)}) & 1023)",
                f"tl.where({a} < {b}, {b}, {self.scalar(1)})",
                f"({a} if {self.condition()} else {b})",
            ]
        )

    # ---- statements ------------------------------------------------------------------

    def suite(self, n: int) -> None:
        self.depth += 1
        for _ in range(n):
            self.statement()
        self.depth -= 1

    def assign(self) -> None:
        d = self.d
        if self.blocks and d.chance(35):
            self.put(f"{d.pick(self.blocks)} = {self.block()}")
            return
        kind, v, w = d.below(8), d.pick(self.scalars), d.pick(self.scalars)
        if kind == 0:
            self.put(f"{v} {d.pick(['+=', '-=', '^=', '|='])} {self.scalar(1)}")
            self.put(f"{v} &= 1023")
        elif kind == 1 and v != w:
            self.put(f"{v}, {w} = {self.scalar(1)}, {self.scalar(1)}")
        elif kind == 2 and v != w:
            self.put(f"{v}, {w} = {w}, {v}")
        elif kind == 3 and v != w:
            t = self.fresh("t")
            self.put(f"{t} = ({self.scalar(1)}, ({self.scalar(1)}, {self.scalar(1)}))")
            self.put(f"{v}, ({w}, {self.d.pick(self.scalars)}) = {t}")
        elif kind == 4:
            self.put(f"{v} = {w} = {self.scalar(1)}")
        else:
            self.put(f"{v} = {self.scalar()}")

    def branch(self) -> None:
        d = self.d
        self.put(f"if {self.condition()}:")
        self.suite(d.between(1, 3))
        self.leave()
        while d.chance(25):
            self.put(f"elif {self.condition()}:")
            self.suite(d.between(1, 2))
            self.leave()
        if d.chance(50):
            self.put("else:")
            self.suite(d.between(1, 2))
            self.leave()

    def leave(self) -> None:
        """What may end a branch."""
        words = ["break", "continue"] if self.n_loops else []
        if self.can_return:
            words.append(self.can_return.format(self.scalar(1)))
        if words and self.d.chance(30):
            self.put(f"    {self.d.pick(words)}")

    def counted(self) -> None:
        d = self.d
        head = d.pick(
            [
                f"range({d.between(0, 4)})",
                f"range({d.pick(self.scalars)} & 3)",
                f"range(1, {d.pick(self.scalars)} & 7, 2)",
                f"range({d.pick(self.scalars)} & 3, -1, -1)",
                f"range({d.pick(self.scalars)} & 3, {d.pick(self.scalars)} & 3)",
                "range(K)",
                "tl.static_range(3)",
                f"tl.range(0, {d.pick(self.scalars)} & 3, num_stages=2)",
                f"({self.scalar(1)}, {self.scalar(1)})",
            ]
        )
        i, target = self.fresh("i"), d.pick(self.scalars)
        value = f"({i} * {d.between(1, 9)} + {self.scalar(1)}) & 1023"
        self.put(f"for {i} in {head}:")
        self.put(f"    {target} = {value}")
        self.counters.append(i)
        self.n_loops += 1
        self.suite(d.between(1, 3))
        self.n_loops -= 1
        self.counters.pop()

    def guarded(self) -> None:
        d, k = self.d, self.fresh("k")
        self.put(f"{k} = 0")
        most, forever = d.between(1, 5), d.chance(40)
        head = "True" if forever else f"{self.condition()} and {k} < {most}"
        self.put(f"while {head}:")
        self.put(f"    {k} += 1")
        if forever:
            self.put(f"    if {k} > {most}:")
            self.put("        break")
        self.n_loops += 1
        self.suite(d.between(1, 3))
        self.n_loops -= 1

    def statement(self) -> None:
        forms = [(5, self.assign)]
        if self.depth < 3:
            forms += [(3, self.branch), (2, self.counted), (2, self.guarded)]
        self.d.weighted(forms)()

    # ---- the whole -------------------------------------------------------------------

    def function(self) -> None:
        d, name, n = self.d, self.fresh("f"), self.d.between(1, 3)
        params = [f"p{k}" for k in range(n)]
        heads = [*params[:-1], f"{params[-1]}={d.between(0, 9)}"]
        self.put("@jit")
        self.put(f"def {name}({', '.join(heads)}):")
        was = self.scalars, self.blocks
        self.scalars, self.blocks, self.can_return = [*params, "x"], [], "return {}"
        self.depth += 1
        self.put("K = 2")
        self.put("x = p0 ^ 5")
        self.depth -= 1
        self.suite(d.between(1, 3))
        self.put(f"    return {self.scalar(1)}")
        self.put("")
        self.can_return = ""
        self.scalars, self.blocks = was
        self.helpers.append((name, n))

    def kernel(self) -> None:
        self.put("@jit")
        self.put("def kernel(x_ptr, o_ptr, K: tl.constexpr):")
        self.depth += 1
        for i, name in enumerate(SCALARS):
            self.put(f"{name} = tl.load(x_ptr + {i})")
        for i, name in enumerate(BLOCKS):
            self.put(f"{name} = tl.load(x_ptr + {N * (i + 1)} + tl.arange(0, {N}))")
        self.depth -= 1
        self.suite(self.d.between(2, 5))
        self.depth += 1
        for i, name in enumerate(SCALARS):
            self.put(f"tl.store(o_ptr + {i}, {name})")
        for i, name in enumerate(BLOCKS):
            self.put(f"tl.store(o_ptr + {N * (i + 1)} + tl.arange(0, {N}), {name})")


class Pointer:
    """An array, and places in it."""

    def __init__(self, array: np.ndarray, at: Any = 0) -> None:
        self.array, self.at = array, at

    def __add__(self, more: Any) -> Pointer:
        return Pointer(self.array, self.at + more)


def load(p: Pointer) -> Any:
    x = p.array[p.at]
    return x.astype(np.int64) if isinstance(p.at, np.ndarray) else int(x)


def store(p: Pointer, value: Any) -> None:
    p.array[p.at] = value


LANGUAGE = SimpleNamespace(
    load=load,
    store=store,
    arange=np.arange,
    where=np.where,
    sum=lambda x, axis: int(np.sum(x)),
    static_range=range,
    range=lambda *args, num_stages: range(*args),
    constexpr=int,
)


def compare(seed: int, target: str = "cpu") -> str:
    """ "" is agreement."""
    text = "\n".join(Program(seed).lines) + "\n"
    file = f"<program {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    code = compile(text, file, "exec")
    x = np.random.default_rng(seed).integers(0, 1024, 4 * N).astype(np.int32)
    k = seed % 4
    want, got = np.zeros(4 * N, np.int32), np.zeros(4 * N, np.int32)
    python: dict[str, Any] = {"tl": LANGUAGE, "jit": lambda f: f}
    exec(code, python)
    python["kernel"](Pointer(x), Pointer(want), k)
    ours: dict[str, Any] = {"tl": tegula.language, "jit": tegula.jit, "__name__": file}
    exec(code, ours)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = target
        try:
            ours["kernel"][(1,)](x, got, k)
        except Exception as e:
            return f"{type(e).__name__}: {e}"
    bad = np.flatnonzero(got != want)
    return f"[{bad[0]}] is {got[bad[0]]}, Python's {want[bad[0]]}" if len(bad) else ""


if __name__ == "__main__":
    tegula.knobs.cache.dir = ""
    for word in sys.argv[1:]:
        low, _, high = word.partition("..")
        for seed in range(int(low), int(high or low) + 1):
            said = compare(seed)
            if said:
                print(f"seed {seed}: {said}", flush=True)
                if not high:
                    print("\n".join(Program(seed).lines))
