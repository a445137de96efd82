"""Products with sides that warpgroups take, in the loops that libraries write: a product,
two with a factor in common, or one whose result is the next one's left factor; by tiles of
a matrix that pointers, block pointers or descriptors walk, with warps of their own where
the compiler finds that it pays."""

from __future__ import annotations

from typing import NamedTuple

from .expr import clamped
from .products import Products
from .scope import FP8, Var, size

STEPS = 4  # of a loop, at most
ROOM = 288 << 10  # elements of the factors' memory
# Elements; accumulator; options; how large a factor may be, for sums to be exact.
TYPES = [
    ("float16", "float32", "", 16),
    ("bfloat16", "float32", "", 16),
    ("float32", "float32", ', input_precision="tf32"', 16),
    ("float8e4nv", "float32", "", 4),
    ("float8e5", "float32", "", 4),
    ("int8", "int32", ", out_dtype=tl.int32", 127),
]


class Walk(NamedTuple):
    """How a loop meets the tiles of a factor."""

    before: str  # what is written in front of the loop
    tile: str  # the tile of a step
    after: str  # what is written behind it, in the loop


class Loop(NamedTuple):
    t: str  # its index
    head: str


class Task(NamedTuple):
    """What a loop is to multiply."""

    kind: str
    acc: str
    how: str
    limit: int  # of a factor, for sums to be exact
    sides: tuple[int, int, int]  # m, n, k
    row: str
    loop: Loop


def turned(tile: str) -> str:
    bare = tile.removeprefix("tl.trans(")
    return f"tl.trans({tile})" if bare == tile else bare[:-1]


class Large(Products):
    is_usual = False  # factors lie as warpgroups and copies of tensors take them

    def walk_of(
        self, kind: str, rows: int, k: int, first: str, t: str, sums_rows: bool = False
    ) -> Walk:
        """[rows, k] tiles along k, or turned ones of a [k, rows] matrix; first: a row.
        sums_rows: the product adds up along rows."""
        d = self.d
        is_turned = d.chance(40)
        if self.is_usual and kind not in ("float16", "bfloat16"):
            is_turned = sums_rows
        height, width = (k * STEPS, 2 * rows) if is_turned else (2 * rows, k * STEPS)
        stride = width + d.pick([0, 0, 16, 16] if self.is_usual else [0, 16, 8, 1])
        sides = (k, rows) if is_turned else (rows, k)
        end = k * STEPS - d.pick([0, 0, 8, k + 3])  # of k
        tensor = f"[{end}, {width}]" if is_turned else f"[{height}, {end}]"
        source, p = f"l_{kind}", self.fresh("p")
        at = (f"{t} * {k}", first) if is_turned else (first, f"{t} * {k}")
        form = d.pick(["carried", "carried", "index", "block", "descriptor"])
        n_bytes = 1 if kind in FP8 or kind == "int8" else 4 if kind == "float32" else 2
        if form == "descriptor" and stride * n_bytes % 16 == 0:
            about = f"{source}, {tensor}, [{stride}, 1], {list(sides)}"
            made = f"{p} = tl.make_tensor_descriptor({about})"
            if kind in ("float16", "float32", "int8") and d.chance(40):
                full = [end, width] if is_turned else [height, end]
                host = [full, [stride, 1], list(sides), "zero"]
                made = f"{p} = {self.described(source, host)}"
            walk = Walk(
                made,
                f"{p}.load([{at[0]}, {at[1]}])",
                "",
            )
        elif form == "block":
            start = f"(0, {first})" if is_turned else f"({first}, 0)"
            about = f"({tensor[1:-1]}), ({stride}, 1), {start}, {sides}, (1, 0)"
            step = f"({k}, 0)" if is_turned else f"(0, {k})"
            walk = Walk(
                f"{p} = tl.make_block_ptr({source}, {about})",
                f'tl.load({p}, boundary_check=(0, 1), padding_option="zero")',
                f"{p} = tl.advance({p}, {step})",
            )
        else:
            walk = self.by_pointers(
                source, p, sides, stride, is_turned, first, t, end, form
            )
        return walk._replace(tile=turned(walk.tile)) if is_turned else walk

    def by_pointers(
        self,
        source: str,
        p: str,
        sides: tuple[int, int],
        stride: int,
        is_turned: bool,
        first: str,
        t: str,
        end: int,
        form: str,
    ) -> Walk:
        d = self.d
        i, j = (
            f"tl.arange(0, {sides[0]})[:, None]",
            f"tl.arange(0, {sides[1]})[None, :]",
        )
        k = sides[0] if is_turned else sides[1]
        along, across = (i, j) if is_turned else (j, i)
        step = k * stride if is_turned else k
        rows = sides[1] if is_turned else sides[0]
        row = f"{across} + {first}"
        if d.chance(0 if self.is_usual else 20):
            row = f"({row}) % {rows + d.pick([0, 5, 16])}"
        place = (
            f"{along} * {stride} + ({row})"
            if is_turned
            else f"({row}) * {stride} + {along}"
        )
        masks = [f"{along} < {end} - {t} * {k}", f"{t} * {k} + {along} < {end}"]
        masks += [f"{across} + {first} < {2 * rows - 9}", f"{across} < n * 16"]
        mask = d.pick(masks) if d.chance(50) else ""
        if mask and d.chance(20):
            mask = f"({mask}) & ({d.pick(masks)})"
        more = f", mask={mask}, other=0" if mask else ""
        if form == "carried":
            return Walk(
                f"{p} = {source} + {place}", f"tl.load({p}{more})", f"{p} += {step}"
            )
        return Walk(
            f"{p} = {place}", f"tl.load({source} + {p} + {t} * {step}{more})", ""
        )

    def large_loop(self) -> None:
        d = self.d
        kind, acc, how, limit = d.pick(TYPES)
        self.param(f"l_{kind}", "in", kind, True, ROOM)
        m, n = d.pick([64, 128, 128, 256]), d.pick([64, 128, 32, 16, 96])
        k = d.pick([64, 32, 128] if kind in FP8 or kind == "int8" else [64, 32, 16])
        t, tile = self.fresh("t"), self.fresh("tile")
        by_tiles = d.chance(30)
        if by_tiles:
            count = d.pick(
                ["range(0, 2)", "range(pid & 1, 2)", "tl.range(0, 2, flatten=True)"]
            )
            self.put(f"for {tile} in {count}:")
            self.indent += 1
        row = f"{tile} * {m}" if by_tiles else d.pick(["0", f"(pid & 1) * {m}"])
        count = d.pick(["4", "3", "n & 3", "tl.minimum(n, 4)", "1"])
        stages = d.pick(["", ", num_stages=2", ", num_stages=3", ", num_stages=4"])
        loop = Loop(t, f"for {t} in tl.range(0, {count}{stages}):")
        form = d.pick([self.single, self.shared_factor, self.chain, self.gradient])
        results = form(Task(kind, acc, how, limit, (m, n, k), row, loop))
        for v in results:
            self.put(f"{v.name} = {clamped(v.name, acc)}")
        if not by_tiles:
            self.vars += results
            return
        for v in results:
            out = self.fresh("tiles")
            self.param(out, "out", acc, True, 0)
            self.stored[out] = 2 * size(v.shape)
            start = f"{out} + {tile} * {size(v.shape)}"
            if len(v.shape) == 2 and d.chance(30):  # a part of the sum
                self.put(
                    f"tl.atomic_add({start} + {self.index(v.shape)}, {v.name} + 0)"
                )
                continue
            self.put(f"tl.store({start} + {self.index(v.shape)}, {v.name})")
        self.indent -= 1

    def zeros(self, dtype: str, shape: tuple[int, ...]) -> Var:
        v = Var(self.fresh(), dtype, shape)
        self.put(f"{v.name} = tl.zeros({list(shape)}, tl.{dtype})")
        return v

    def loop_of(self, loop: Loop, walks: list[Walk], body: list[str]) -> None:
        for w in walks:
            self.put(w.before)
        self.put(loop.head)
        for line in body + [w.after for w in walks if w.after]:
            self.put(f"    {line}")

    def added(self, v: Var, product: str, how: str) -> str:
        if self.d.chance(75):
            return f"{v.name} = tl.dot({product}, {v.name}{how})"
        return f"{v.name} += tl.dot({product}{how})"

    def single(self, task: Task) -> list[Var]:
        kind, acc, how, _, (m, n, k), row, loop = task
        v = self.zeros(acc, (m, n))
        a, b = (
            self.walk_of(kind, m, k, row, loop.t),
            self.walk_of(kind, n, k, "0", loop.t),
        )
        left = a.tile
        if self.d.chance(20):  # made of what was loaded
            factor = 1 if kind in FP8 else self.d.pick([2, -1])
            wide = "int32" if kind == "int8" else "float32"
            left = f"({left}.to(tl.{wide}) * {factor}).to(tl.{kind})"
        body = [self.added(v, f"{left}, {turned(b.tile)}", how)]
        self.loop_of(loop, [a, b], body)
        return [v]

    def shared_factor(self, task: Task) -> list[Var]:
        kind, acc, how, _, (m, n, k), row, loop = task
        m, n = min(m, 128), min(n, 64)
        v, u = self.zeros(acc, (m, n)), self.zeros(acc, (m, n))
        a, x = self.walk_of(kind, m, k, row, loop.t), self.fresh("x")
        b, c = (self.walk_of(kind, n, k, first, loop.t) for first in ("0", str(n)))
        body = [f"{x} = {a.tile}", self.added(v, f"{x}, {turned(b.tile)}", how)]
        body.append(self.added(u, f"{x}, {turned(c.tile)}", how))
        self.loop_of(loop, [a, b, c], body)
        return [v, u]

    def chain(self, task: Task) -> list[Var]:
        """Attention's: the steps go along n, and k is one tile."""
        d = self.d
        kind, acc, how, limit, sides, row, loop = task
        m, n, wide, k = min(sides[0], 128), d.pick([32, 64]), d.pick([64, 32]), sides[2]
        v, total = self.zeros(acc, (m, wide)), self.zeros(acc, (m,))
        q, s = self.fresh("q"), self.fresh("s")
        left = self.walk_of(kind, m, k, row, "0")
        self.put(left.before)
        self.put(f"{q} = {left.tile}")
        b = self.walk_of(kind, k, n, "0", loop.t, sums_rows=True)
        c = self.walk_of(kind, wide, n, "0", loop.t)
        body = [
            f"{s} = {clamped(f'tl.dot({q}, {b.tile}{how})', acc, limit)}",
            f"{total.name} += tl.sum({s}, 1)",
            self.added(v, f"{s}.to(tl.{kind}), {turned(c.tile)}", how),
        ]
        if d.chance(25):
            i, j = f"tl.arange(0, {m})[:, None]", f"tl.arange(0, {n})[None, :]"
            body.insert(1, f"{s} = tl.where({i} + {n} >= {loop.t} * {n} + {j}, {s}, 0)")
        if d.chance(30):  # a row's factor, as of a running maximum
            body.insert(2, f"{v.name} = {v.name} * (1 - ({loop.t} == 1).to(tl.{acc}))")
        self.loop_of(loop, [b, c], body)
        return [v, total]

    def gradient(self, task: Task) -> list[Var]:
        """That of attention: two products of which a third one's left factor is made, and
        a tile that two of them read."""
        d = self.d
        kind, acc, how, limit, sides, row, loop = task
        m, n, k = min(sides[0], 128), d.pick([32, 64]), min(sides[2], 64)
        v, s, u = self.zeros(acc, (m, k)), self.fresh("s"), self.fresh("u")
        lefts = []
        for _ in range(2):
            left, name = self.walk_of(kind, m, k, row, "0"), self.fresh("q")
            self.put(left.before)
            self.put(f"{name} = {left.tile}")
            lefts.append(name)
        b, c = (self.walk_of(kind, k, n, "0", loop.t, sums_rows=True) for _ in range(2))
        x, y = self.fresh("x"), self.fresh("y")
        product = f"{s} * tl.minimum(tl.maximum({u}, -1), 1)"
        if d.chance(30):  # the other product is nobody's factor
            product = s
        made = f"({product}).to(tl.{kind})"
        body = [
            f"{x} = {b.tile}",
            f"{s} = {clamped(f'tl.dot({lefts[0]}, {x}{how})', acc, limit)}",
            f"{y} = {c.tile}",
            f"{u} = {clamped(f'tl.dot({lefts[1]}, {y}{how})', acc, limit)}",
            self.added(v, f"{made}, tl.trans({d.pick([x, x, y])})", how),
        ]
        results = [v]
        if d.chance(50):
            results.append(total := self.zeros(acc, (m,)))
            body.append(f"{total.name} += tl.sum({u}, 1)")
        self.loop_of(loop, [b, c], body)
        return results
