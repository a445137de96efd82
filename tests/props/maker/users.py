"""Statements as libraries write them: weights that are unpacked in front of a product, a
maximum that runs along with its sum, tiles and their products in one loop, tickets, locks,
programs that wait for others, tensors that the host describes."""

from __future__ import annotations

from .expr import clamped
from .scope import N_IN, Var, Want, is_float, size, within
from .tiles import Tiles

HOST = ["float16", "float32", "int8", "int32", "uint16"]  # types that NumPy has, too


class Users(Tiles):
    # ---- products --------------------------------------------------------------------

    def unpacked(
        self, k: int, n: int, kind: str, packed: str, by_rows: bool
    ) -> list[str]:
        """Lines, the last of which names a [k, n] factor, of [k / 8, n] or [k, n / 2]."""
        d = self.d
        q, s, t = (self.fresh(x) for x in "qst")
        half = f"(({q} >> 4) & 15)"
        shifts = f"tl.arange(0, 8) * {d.pick([4, 4, 2])}"
        forms = [
            f"tl.interleave({q} & 15, {half})",
            f"tl.join({q} & 15, {half}).reshape([{k}, {n}])",
            f"tl.trans(tl.join({q} & 15, {half}), 0, 2, 1).reshape([{k}, {n}])",
            f"tl.reshape(tl.permute(tl.join({half}, {q} & 15), (2, 0, 1)), [{k}, {n}])",
            f"tl.cat({q} & 15, {half}, dim=1)",
        ]
        wide = f"(({q}[:, None, :] >> ({shifts})[None, :, None]) & 15)"
        text = f"{wide}.reshape([{k}, {n}])" if by_rows else d.pick(forms)
        lines = [f"{q} = {packed}", f"{s} = {text}"]
        zero = d.pick(["8", "(tl.arange(0, " + str(n) + ") & 7)[None, :]"])
        lines.append(f"{t} = ({s}.to(tl.int32) - {zero}).to(tl.{kind})")
        scale = d.pick(["", "", " * 2.0", f" * (tl.arange(0, {k}) % 3)[:, None]"])
        scale = scale if is_float(kind) else ""
        return [*lines, f"{t} = ({t}{scale}).to(tl.{kind})"]

    def unpacked_dot(self) -> None:
        """Weights of four bits, in a loop or alone."""
        d = self.d
        kind, acc, how = d.pick(
            [
                ("float16", "float32", ""),
                ("bfloat16", "float32", ""),
                ("int8", "int32", ", out_dtype=tl.int32"),
                ("float32", "float32", ', input_precision="tf32"'),
            ]
        )
        m, n, k = d.pick([16, 32, 64]), d.pick([16, 32, 64]), d.pick([32, 64, 128])
        by_rows = d.chance(40)
        shape = (k // 8, n) if by_rows else (k, n // 2)
        kind_of = "int32" if by_rows else d.pick(["uint8", "int8", "int32", "uint32"])
        source = self.param(f"q_{kind_of}", "in", kind_of, True, 2 * N_IN).name
        x = self.fresh("x")
        t, p = self.fresh("t"), self.fresh("p")
        place = f"tl.arange(0, {shape[0]})[:, None] * {shape[1] + d.pick([0, 0, 16])}"
        at = f"{source} + {place} + tl.arange(0, {shape[1]})[None, :]"
        v = self.bind(f"tl.zeros([{m}, {n}], tl.{acc})", Want(acc, (m, n)))
        left = self.factor(Want(kind, (m, k)), 8)
        self.put(f"{x} = {left}")
        mask = d.pick(["", "", f", mask={place} < {t} * 40 + 99, other=0"])
        stages = d.pick(["", ", num_stages=2", ", num_stages=3", ", num_stages=4"])
        is_carried = d.chance(50)
        if is_carried:
            self.put(f"{p} = {at}")
        self.put(f"for {t} in tl.range(0, {d.pick(['3', 'n & 3', '2'])}{stages}):")
        there = p if is_carried else f"{at} + {t} * 16"
        lines = self.unpacked(k, n, kind, f"tl.load({there}{mask})", by_rows)
        for line in lines:
            self.put(f"    {line}")
        low = lines[-1].split(" ")[0]
        self.put(f"    {v.name} = tl.dot({x}, {low}, {v.name}{how})")
        if is_carried:
            self.put(f"    {p} += {d.pick([16, 32, 1])}")
        if is_float(acc):
            self.put(f"{v.name} = {clamped(v.name, acc)}")

    def online(self) -> None:
        """A maximum that runs along a loop, and what it rescales: values of several types
        that the loop carries, with a product or without."""
        d = self.d
        m, n, wide = d.pick([16, 32, 64]), d.pick([32, 16, 64]), d.pick([16, 32])
        kind = d.pick(["float16", "bfloat16"])
        source = self.param(f"m_{kind}", "in", kind, True, 3 * N_IN).name
        top, count, t, s, new, a, p = (self.fresh(x) for x in "mctsnap")
        acc = Var(self.fresh(), "float32", (m, wide))
        self.put(f"{top} = tl.full([{m}], -99.0, tl.float32)")
        self.put(f"{count} = tl.zeros([{m}], tl.{d.pick(['int32', 'int64', 'int16'])})")
        self.put(f"{acc.name} = tl.zeros([{m}, {wide}], tl.float32)")
        i, j, k = (f"tl.arange(0, {x})" for x in (m, n, wide))
        first = d.pick(["0", "n * 16", "pid * 32"])
        q = f"{source} + {first} + {i}[:, None] * {n + d.pick([0, 16])} + {j}[None, :]"
        end = d.pick(["n * 20", "70", "33"])
        mask = f", mask={t} * {n} + {j}[None, :] < {end}, other=0.0"
        mask = d.pick([mask, ""])
        stages = d.pick(["", ", num_stages=2", ", num_stages=3", ", num_stages=1"])
        end = d.pick(["3", "n & 3", "tl.cdiv(n * 20, 64)", "tl.minimum(n, pid + 2)"])
        self.put(f"for {t} in tl.range(0, {end}{stages}):")
        self.indent += 1
        if d.chance(50):
            right = f"tl.load({source} + {k}[:, None] + {j}[None, :] * 32 + {t} * {n})"
            x = f"tl.load({source} + {i}[:, None] * 48 + {k}[None, :])"
            self.put(f"{s} = {clamped(f'tl.dot({x}, {right})', 'float32')}")
        else:
            self.put(f"{s} = tl.load({q} + {t} * {n}{mask}).to(tl.float32)")
        if d.chance(50):
            self.put(f"{s} = tl.where({i}[:, None] >= {j}[None, :] - {t}, {s}, -50.0)")
        self.put(f"{new} = tl.maximum({top}, tl.max({s}, 1))")
        self.put(f"{a} = ({new} == {top}).to(tl.float32)")
        self.put(f"{p} = ({s} >= {new}[:, None] - {d.pick([0, 1, 4])}.0).to(tl.{kind})")
        right = f"tl.load({source} + {j}[:, None] * {wide} + {k}[None, :] + {t} * 64)"
        if d.chance(50):
            self.put(f"{acc.name} = {acc.name} * {a}[:, None]")
            self.put(f"{acc.name} = tl.dot({p}, {right}, {acc.name})")
        else:
            self.put(f"{acc.name} = {acc.name} * {a}[:, None] + tl.dot({p}, {right})")
        self.put(f"{count} += tl.sum({p}.to(tl.int32), 1).to({count}.dtype)")
        self.put(f"{top} = {new}")
        self.indent -= 1
        self.put(f"{acc.name} = {clamped(acc.name, 'float32')}")
        self.vars.append(acc)
        self.bind(f"{count}.to(tl.int32)", Want("int32", (m,)))
        self.bind(clamped(f"{top} + 0.0", "float32"), Want("float32", (m,)))

    def persistent(self) -> None:
        """Tiles and the steps of their products, nested or as one loop with an epilogue."""
        d = self.d
        kind, acc, how = d.pick(
            [
                ("float16", "float32", ""),
                ("int8", "int32", ", out_dtype=tl.int32"),
                ("float32", "float32", ', input_precision="tf32"'),
            ]
        )
        m, n, k = d.pick([16, 32, 64]), d.pick([16, 32, 64]), d.pick([32, 64])
        steps, tiles = d.between(1, 3), d.between(1, 4)
        source = self.param(f"m_{kind}", "in", kind, True, 3 * N_IN).name
        out = self.fresh("tiles")
        self.param(out, "out", acc, True, 0)
        self.stored[out] = tiles * m * n
        v, t, s, g = self.fresh(), self.fresh("t"), self.fresh("s"), self.fresh("g")
        i, j, e = (f"tl.arange(0, {x})" for x in (m, n, k))
        left = f"tl.load({source} + {i}[:, None] * {k} + {e}[None, :] + {t} * 16 + {s})"
        if d.chance(40):
            left = left[:-1] + f", mask={e}[None, :] < {k - 9} + {s}, other=0)"
        right = f"tl.load({source} + {e}[:, None] * {n} + {j}[None, :] + {s} * {k})"
        place = f"{out} + {t} * {m * n} + {self.index((m, n))}"
        value = clamped(v, acc, 9) if d.chance(50) else v
        if acc == "int32" and value is v and d.chance(50):
            value = f"({v} >> 3) * 5"
        hints = ["", ", num_stages=3", ", flatten=True", ", warp_specialize=True"]
        hints += [", num_stages=2, flatten=True", ", disable_licm=True"]
        first, step = d.pick(["0", "0", "tl.minimum(n, 1)"]), d.pick([1, 1, 2])
        if d.chance(60):
            self.put(f"for {t} in tl.range({first}, {tiles}, {step}{d.pick(hints)}):")
            self.put(f"    {v} = tl.zeros([{m}, {n}], tl.{acc})")
            self.put(f"    for {s} in tl.range(0, {steps}{d.pick(hints[:2])}):")
            self.put(f"        {v} = tl.dot({left}, {right}, {v}{how})")
            self.put(f"    tl.store({place}, {value})")
            return
        total = tiles * steps
        self.put(f"{v} = tl.zeros([{m}, {n}], tl.{acc})")
        self.put(f"{t} = 0")
        self.put(f"{s} = {steps - 1 if d.chance(30) else 0}")
        self.put(f"for {g} in tl.range(0, {total}{d.pick(hints[:3])}):")
        self.put(f"    {v} = tl.dot({left}, {right}, {v}{how})")
        test = f"{s} == {steps - 1}"
        self.put(f"    if {test}:")
        self.put(f"        tl.store({place}, {value})")
        if d.chance(50):
            self.put(f"        {v} = tl.zeros([{m}, {n}], tl.{acc})")
            self.put(f"        {t} += 1")
        else:
            self.put(f"        {v} = {v} * 0")
            self.put(f"        {t} = ({g} + 1) // {steps}")
        self.put(f"    {s} = tl.where({test}, 0, {s} + 1)")

    def while_dots(self) -> None:
        """Products in a while, whose test may depend on them."""
        d = self.d
        kind = d.pick(["float16", "bfloat16", "float32"])
        m, n, k = d.pick([16, 32]), d.pick([16, 32]), d.pick([16, 32])
        source = self.param(f"m_{kind}", "in", kind, True, 3 * N_IN).name
        v, t = (
            self.bind(f"tl.zeros([{m}, {n}], tl.float32)", Want("float32", (m, n))),
            (self.fresh("t")),
        )
        i, j, e = (f"tl.arange(0, {x})" for x in (m, n, k))
        self.put(f"{t} = 0")
        tests = [f"{t} < n", f"({t} < 4) & (tl.max(tl.max({v.name}, 1), 0) < 15)"]
        self.put(f"while {d.pick(tests)}:")
        x = f"tl.load({source} + {i}[:, None] * {k} + {e}[None, :] + {t} * 16)"
        y = f"tl.load({source} + {j}[None, :] * {k} + {e}[:, None] + {t} * {k})"
        self.put(f"    {v.name} += {clamped(f'tl.dot({x}, {y})', 'float32', 8)}")
        if d.chance(40):
            self.put(f"    if {t} == {d.below(3)}:")
            self.put(f"        {v.name} = tl.dot({x}, {y}, {v.name})")
        self.put(f"    {v.name} = {clamped(v.name, 'float32')}")
        self.put(f"    {t} += 1")

    # ---- programs and threads --------------------------------------------------------

    def ticket(self) -> None:
        """Atomics with a mask whose results are used; one number for all programs."""
        d = self.d
        shape = d.pick(self.shapes)
        dtype = d.pick(["int32", "int64", "uint32", "uint64"])
        w, p, c = Want(dtype, shape), self.fresh("p"), self.fresh("c")
        array, at = self.scratch(dtype), self.work(shape)
        self.put(f"{c} = {self.mask(shape)}")
        self.put(f"{p} = {array} + {at} + {self.index(shape)}")
        self.put("tl.debug_barrier()")
        ops = ["add", "xchg", "max", "min", *(["or", "xor"] if dtype[0] == "i" else [])]
        more = d.pick(["", ', sem="relaxed"', ', sem="acquire"', ', scope="cta"'])
        text = f"tl.atomic_{d.pick(ops)}({p}, {self.expr(w, 1)}, mask={c}{more})"
        self.bind(f"tl.where({c}, {text}, 7).to(tl.{dtype})", w)
        self.put("tl.debug_barrier()")
        if d.chance(50):
            there = self.bind(f"tl.load({p}, mask={c}, other=3).to(tl.{dtype})", w)
            self.put(f"{there.name} = {there.name}")
        self.put("tl.debug_barrier()")

    def locked(self) -> None:
        """What one program at a time does to memory of all of them."""
        if self.in_loop:  # of few programs, perhaps
            return self.ticket()
        d = self.d
        dtype, n = d.pick(["int32", "int64", "uint8", "int16"]), d.pick([32, 128, 16])
        self.param("lock", "zero", "int32", True, 1)
        name, op = d.pick([("shared", "+"), ("flipped", "^")])  # in any order
        out = self.param(f"{name}_{dtype}", "out", dtype, True, 128).name
        p = f"{out} + tl.arange(0, {n})"
        value = self.expr(Want(dtype, (n,)), 1)
        v, x = self.fresh("v"), self.fresh("x")
        self.put(f"{v} = {value}")
        self.put("while tl.atomic_cas(lock, 0, 1) == 1:")
        self.put("    pass")
        self.put("tl.debug_barrier()")
        self.put(f"{x} = tl.load({p}{d.pick(['', ', volatile=True'])})")
        if d.chance(30):
            self.put(f"for _ in range({d.between(0, 3)}):")
            self.put(f"    {x} {op}= 1")
        self.put(f"tl.store({p}, ({x} {op} {v}).to(tl.{dtype}))")
        self.put("tl.debug_barrier()")
        self.put("tl.atomic_xchg(lock, 0)")

    # ---- tensors of the host ---------------------------------------------------------

    def host_tiles(self) -> None:
        """Tiles of such tensors, partly outside; loaded in a loop, and stored."""
        d = self.d
        dtype = d.pick(HOST)
        n_bytes = int("".join(c for c in dtype if c.isdigit())) // 8
        rows, cols = d.pick([8, 16, 32, 1]), d.pick([16, 32, 64])
        if cols * n_bytes > 256:
            cols = 32
        source = self.param(f"h_{dtype}", "in", dtype, True, N_IN).name
        sides, stride = [d.pick([32, 17, 40]), d.pick([64, 48, 33])], 64
        padding = "nan" if is_float(dtype) and d.chance(20) else "zero"
        name = self.described(source, [sides, [stride, 1], [rows, cols], padding])
        w = Want(dtype, (rows, cols))
        v, t = self.bind(f"tl.zeros([{rows}, {cols}], tl.{dtype})", w), self.fresh("t")
        stages = d.pick(["", ", num_stages=2", ", num_stages=3"])
        self.put(f"for {t} in tl.range(0, {d.pick(['n & 3', '3', '4'])}{stages}):")
        r = d.pick([f"{t} * {rows}", "n", f"{t} * 7 - 3", "pid * 8"])
        c = d.pick(["0", f"{t} * 16", "n * 8", "-8"])
        x = f"{name}.load([{r}, {c}])"
        new = f"{v.name} + {x}" if dtype[0] != "f" else f"tl.maximum({v.name}, {x})"
        self.put(f"    {v.name} = ({new}).to(tl.{dtype})")
        if is_float(dtype):
            self.put(f"{v.name} = {clamped(v.name, dtype)}")
        if d.chance(60):
            out = self.fresh("tiled")
            short = d.pick([0, 0, 3 if rows > 3 else 0])
            self.param(out, "out", dtype, True, self.grid * rows * cols)
            tall = [self.grid * rows - short, cols]
            to = self.described(out, [tall, [cols, 1], [rows, cols], "zero"])
            if dtype in ("int32", "float16") and d.chance(30):
                x = "+ 0.0" if dtype == "float16" else ""
                text = f"({v.name} {x}).to(tl.{dtype})"
                self.put(f"{to}.atomic_add([pid * {rows}, 0], {text})")
            else:
                self.put(f"{to}.store([pid * {rows}, 0], {v.name})")

    # ---- addresses -------------------------------------------------------------------

    def addressed(self) -> None:
        """Pointers that are selected, carried and moved by integers of any type."""
        d = self.d
        w = Want("float32", d.pick([s for s in self.shapes if s]))
        at = f"({self.index(w.shape)} & 2047)"
        p, c = self.fresh("p"), self.expr(Want("int1", d.pick([(), w.shape])), 1)
        near, far = f"x1 + {at}", f"x1 + 2048 + {at}"
        kind = d.below(3)
        if kind == 0:
            self.put(f"{p} = tl.where({c}, {near}, {far})")
        elif kind == 1:
            self.put(f"{p} = {near}")
            self.put(
                f"if {d.pick(['n > 3', 'pid == 1', 'C > 1', self.expr(Want('int1', ()))])}:"
            )
            self.put(f"    {p} = {far}")
        else:
            self.put(f"{p} = {far} - {d.pick(['n', '2048', '7'])}")
        step = d.pick(["int8", "uint8", "int16", "uint16", "int64", "uint32"])
        by = self.expr(Want(step, d.pick([(), w.shape])), 1)
        self.put(f"{p} = {p} + (({by}) & 127).to(tl.{step})")
        if d.chance(30):
            self.put(f"{p} = {p} - ({self.simple(Want('int32', w.shape))} & 31) + 31")
        if d.chance(60):
            self.bind(f"tl.load({p})", w)
        else:
            u = Want("int32", w.shape)
            self.bind(f"tl.load({p}.to(tl.pointer_type(tl.int32)))", u)

    def cube(self) -> None:
        """A block pointer of three sides, checked along some of them."""
        d = self.d
        source = self.inputs[d.below(2)]
        dtype = source.dtype
        shape = d.pick([(2, 4, 8), (4, 1, 16), (1, 2, 32), (2, 8, 4)])
        length = [d.pick([n, 2 * n + 1, max(n - 1, 1)]) for n in shape]
        offsets = [d.pick(["0", "n", "1", "pid", "n.to(tl.int64)"]) for _ in shape]
        order = d.pick(["(2, 1, 0)", "(0, 1, 2)", "(1, 2, 0)"])
        strides = d.pick(["(256, 32, 1)", "(1, 8, 64)", "(32, 0, 1)", "(512, 16, 2)"])
        check = d.pick(["(0, 1, 2)", "(0, 2)", "(2,)", "(1,)", "(0,)"])
        padding = d.pick(["", ', padding_option="zero"'])
        b = self.fresh("b")
        about = f"{tuple(length)}, {strides}, ({', '.join(offsets)}), {shape}, {order}"
        self.put(f"{b} = tl.make_block_ptr({source.name}, {about})")
        if d.chance(40):
            self.put(f"{b} = {b}.advance((0, {d.between(0, 2)}, {d.between(0, 5)}))")
        text = f"tl.load({b}, boundary_check={check}{padding})"
        self.bind(f"{text}.to(tl.{dtype})", Want(dtype, shape))

    def gathered_rows(self) -> None:
        """Rows that indices from memory name, as a mixture of experts takes them."""
        d = self.d
        m, n, k = d.pick([16, 32]), d.pick([16, 32]), d.pick([32, 16, 64])
        i, e, j = (f"tl.arange(0, {x})" for x in (m, k, n))
        r, t = self.fresh("r"), self.fresh("t")
        first = self.load(Want("int64", (m,)))
        self.put(f"{r} = {within(first, 32)}")
        source = self.param("m_float16", "in", "float16", True, 3 * N_IN).name
        v = self.bind(f"tl.zeros([{m}, {n}], tl.float32)", Want("float32", (m, n)))
        mask = d.pick(["", f", mask={r}[:, None] < 20 + n, other=0.0"])
        x = f"tl.load({source} + {r}[:, None] * 128 + {e}[None, :] + {t} * {k}{mask})"
        y = f"tl.load({source} + {e}[:, None] * {n} + {j}[None, :] + {t} * 64)"
        stages = d.pick(["", ", num_stages=2", ", num_stages=3"])
        self.put(f"for {t} in tl.range(0, {d.pick(['2', 'n & 1', '3'])}{stages}):")
        self.put(f"    {v.name} = tl.dot({x}, {y}, {v.name})")
        self.put(f"{v.name} = {clamped(v.name, 'float32')}")
        if d.chance(60):  # and to rows of their own
            out = self.fresh("rows")
            self.param(out, "out", "float32", True, 0)
            self.stored[out] = m * n
            place = f"({i} * 5 + n) & {m - 1}"
            at = f"{out} + ({place})[:, None] * {n} + {j}[None, :]"
            self.put(f"tl.store({at}, {v.name}, mask={i}[:, None] < {m - d.below(4)})")

    def users(self) -> None:
        forms = [
            (3, self.unpacked_dot),
            (3, self.online),
            (3, self.persistent),
            (2, self.while_dots),
            (3, self.ticket),
            (1, self.locked),
            (3, self.host_tiles),
            (2, self.addressed),
            (2, self.cube),
            (2, self.gathered_rows),
        ]
        self.d.weighted(forms)()

    def huge(self) -> None:
        """A block that no registers hold, and what is made of it."""
        d = self.d
        shape = d.pick([(8192,), (16384,), (64, 128), (4096,), (16, 1024), (512, 16)])
        known = self.shapes
        self.shapes = [*known, shape]
        w = Want(d.pick(["float32", "int32", "float16", "int8", "int64"]), shape)
        v = self.bind(self.expr(w, 1), w)
        for _ in range(d.between(1, 2)):
            if d.chance(50):
                self.put(f"{v.name} = {self.expr(w, 1)}")
        if d.chance(60):
            u = Want(w.dtype, (), w.whole)
            name = d.pick(["max", "min"])
            text = f"tl.{name}({v.name}.reshape([{size(shape)}]), 0)"
            text += " + 0.0" if is_float(w.dtype) else ""
            self.bind(f"({text}).to(tl.{w.dtype})", u)
        self.shapes = known
