"""Statements: what is assigned, branches, loops."""

from __future__ import annotations

from .expr import clamped
from .scope import INTS, N_IN, Var, Want, size
from .users import Users


class Stmt(Users):
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
            "tl.range(n, warp_specialize=True, disable_licm=True)",
            "tl.range(0, 4, num_stages=1, loop_unroll_factor=4)",
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
        test = f"({k} < 6) & (n != 3)"
        if not self.plain and self.d.chance(20):
            test = f"tl.condition({test}, disable_licm=True)"
        head = [f"while {k} < n:", f"while {test}:", "while True:"][kind]
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

    # ---- the rest --------------------------------------------------------------------

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

    def leave(self) -> None:
        """Of few programs, or launches."""
        test = self.d.pick(["n == 8", "pid == 2", f"{self.simple(Want('int1', ()))}"])
        self.put(f"if {test}:")
        self.put("    return")

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
            forms += [(2, self.assembly), (2, self.dot_scaled), (2, self.tile_trip)]
            forms += [(1, self.rows_trip), (1, self.hint), (2, self.through_two_names)]
            forms.append((6, self.users))
            if not nested:
                forms.append((1, self.leave))
        d.weighted(forms)()
