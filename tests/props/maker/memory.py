"""Loads in all forms; stores and loads with a barrier between them; atomics."""

from __future__ import annotations

from .scope import (
    BITS,
    FLOATS,
    INTS,
    N_IN,
    Scope,
    Shape,
    Var,
    Want,
    in_range,
    is_float,
    size,
    within,
)

# Operations whose result does not depend on the order.
ATOMICS = {
    "int32": ["add", "max", "min", "and", "or", "xor"],
    "uint32": ["add", "max", "min", "xor"],
    "int64": ["add", "max", "min", "and", "or", "xor"],
    "uint64": ["add", "max", "min"],
    "float32": ["add", "max", "min"],
    "float64": ["add"],
    "float16": ["add"],
    "bfloat16": ["add"],
}
N_COUNTS = 64


class Memory(Scope):
    def simple(self, w: Want) -> str:
        raise NotImplementedError

    def expr(self, w: Want, depth: int = 2) -> str:
        raise NotImplementedError

    def constant(self, dtype: str, whole: bool = True) -> str:
        raise NotImplementedError

    # ---- loads -----------------------------------------------------------------------

    def source(self, w: Want) -> tuple[str, str]:
        """An input and how its elements become w's: "({}).to(..)"."""
        fitting = [
            p
            for p in self.inputs
            if not is_float(w.dtype)
            or not w.whole
            or (p.whole and p.dtype in FLOATS)
            or p.dtype in INTS
        ]
        p = self.d.pick(fitting)
        form = f"{{}}.to(tl.{w.dtype})"
        if is_float(w.dtype) and w.whole and p.dtype in INTS:
            form = f"({{}} & 15).to(tl.{w.dtype})"
        elif p.dtype.startswith("float8"):
            form = f"{{}}.to(tl.float32).to(tl.{w.dtype})"
        if self.plain and p.dtype not in (*INTS, "int1") and w.dtype in INTS:
            form = in_range("{}", p.dtype, w.dtype)
        return p.name, form

    def mask(self, shape: Shape) -> str:
        if self.d.chance(40):
            return self.simple(Want("int1", shape))
        limit = self.d.pick([str(size(shape) - 1), "n", "n * 3", str(size(shape) + 5)])
        return f"({self.index(shape)} < {limit})"

    def load(self, w: Want) -> str:
        d = self.d
        if len(w.shape) in (1, 2) and size(w.shape) > 1 and d.chance(25):
            return self.window(w)
        source, form = self.source(w)
        at = self.index(w.shape)
        step = d.pick([1, 1, 1, 2, 3])
        if step > 1:
            at = f"{at} * {step}"
        if size(w.shape) * 3 > N_IN or d.chance(30):
            at = f"(({at} + {self.simple(Want('int32', w.shape))}) & {N_IN - 1})"
        elif d.chance(40):
            at = f"{at} + {d.pick(['n', 'pid * 16', str(d.between(1, 99))])}"
        if d.chance(15):
            at = f"({at}).to(tl.int64)"
            if d.chance(50):
                at = f"{at} + big - big"
        if not self.plain and d.chance(8):
            at = self.wrapped(w.shape, at)
        more = ""
        if d.chance(40):
            more = f", mask={self.mask(w.shape)}"
            if d.chance(60) or self.plain:  # Triton says nothing of what is left out
                dtype = self.params[source].dtype
                c = "1" if dtype in INTS else "2.0"
                more += f", other={'True' if dtype == 'int1' else c}"
        if d.chance(10):
            words = ['cache_modifier=".cg"', 'eviction_policy="evict_last"']
            more += f", {d.pick([*words, 'volatile=True'])}"
        return form.format(f"tl.load({source} + {at}{more})")

    def wrapped(self, shape: Shape, at: str) -> str:
        """Places that go round, or stand still, also from below zero."""
        d = self.d
        self.is_shifted = True
        first = f"{self.index(shape)} + {d.pick(['', 'pid * 64 + ', 'n * 16 + '])}shift"
        n = d.pick([16, 64, 48, 4])
        if d.chance(60) or size(shape) > N_IN:
            return f"(({first}) % {n} + {n})"
        return f"(({first}) // {n} * 4 + 256 + ({at}) % 4)"

    def window(self, w: Want) -> str:
        """Through a block pointer or a descriptor; partly outside of the matrix."""
        d = self.d
        source, form = self.source(w)
        dtype = self.params[source].dtype
        n_bytes = BITS.get(dtype, 8) // 8
        if len(w.shape) == 1:
            length = d.pick([64, 100, 16])
            offset = d.pick(["0", "n", "pid * 8", str(length - w.shape[0] // 2)])
            fits = w.shape[0] * n_bytes >= 16 and dtype != "int1" and not self.plain
            if d.chance(50) and fits:
                about = f"{source}, [{length}], [1], {list(w.shape)}"
                desc = f"tl.make_tensor_descriptor({about})"
                return form.format(f"{desc}.load([{offset}])")
            block = (
                f"tl.make_block_ptr({source}, ({length},), (1,), ({offset},), "
                f"({w.shape[0]},), (0,))"
            )
            padding = ', padding_option="zero"' if self.plain else ""
            return form.format(f"tl.load({block}, boundary_check=(0,){padding})")
        rows, cols = d.pick([(32, 48), (17, 64), (64, 33)])
        r, c = d.pick(["0", "n", "5"]), d.pick(["0", "n", "16"])
        fits = w.shape[1] * n_bytes >= 16 and dtype != "int1" and not self.plain
        if d.chance(50) and fits:
            desc = (
                f"tl.make_tensor_descriptor({source}, [{rows}, {cols}], [64, 1], "
                f"{list(w.shape)})"
            )
            return form.format(f"{desc}.load([{r}, {c}])")
        strides, order = ("64, 1", "1, 0") if d.chance(60) else ("1, 64", "0, 1")
        block = (
            f"tl.make_block_ptr({source}, ({rows}, {cols}), ({strides}), ({r}, {c}), "
            f"{w.shape}, ({order}))"
        )
        if d.chance(40):
            block = f"tl.advance({block}, ({d.between(0, 3)}, {d.between(0, 9)}))"
        padding = ', padding_option="zero"' if d.chance(40) or self.plain else ""
        return form.format(f"tl.load({block}, boundary_check=(0, 1){padding})")

    # ---- there and back --------------------------------------------------------------

    def scratch(self, dtype: str) -> str:
        self.param(f"w_{dtype}", "work", dtype, True, 0)
        return f"w_{dtype}"

    def round_trip(self) -> None:
        """Stored, and read by other threads after a barrier."""
        d = self.d
        w = Want(
            d.pick(INTS + FLOATS), d.pick([s for s in self.shapes if s]), d.chance(50)
        )
        array, at = self.scratch(w.dtype), self.work(w.shape)
        n = size(w.shape)
        value = self.expr(w)
        v = self.fresh("u")
        self.put(f"{v} = {value}")
        where = d.pick([self.index(w.shape), f"{n - 1} - {self.index(w.shape)}"])
        self.put("tl.debug_barrier()")
        how = "tl.atomic_" if not self.plain and d.chance(20) else "tl."
        self.put(f"{how}store({array} + {at} + {where}, {v})")
        self.put("tl.debug_barrier()")
        there = self.index(w.shape)
        if d.chance(60):
            there = within(f"{there} + {self.simple(Want('int32', w.shape))}", n)
        self.bind(f"{how}load({array} + {at} + {there})", w)

    def through_two_names(self) -> None:
        """One array as two arguments: what an iteration stores the next one loads, each
        element by whoever stored it."""
        d = self.d
        dtype = d.pick(["int32", "float32", "int64", "float16"])
        n = d.pick([16, 64, 128, 256])
        w = Want(dtype, (n,))
        array, twin = self.scratch(dtype), f"t_{dtype}"
        self.param(twin, "work", dtype, True, 0).of = array
        names = [array, twin] if d.chance(50) else [twin, array]
        if d.chance(20):
            names = [twin, twin]
        at, v, k = self.work((8 * n,)), self.fresh("u"), self.fresh("k")
        place = f"{at} + {self.index((n,))}"
        self.put(f"{v} = {self.expr(w)}")
        self.put("tl.debug_barrier()")
        self.put(f"tl.store({array} + {place}, {v})")
        self.put("tl.debug_barrier()")
        total, x = self.bind(f"tl.zeros([{n}], tl.{dtype})", w).name, self.fresh("x")
        stages = d.pick(["", ", num_stages=2", ", num_stages=3", ", num_stages=4"])
        self.put(f"for {k} in tl.range(0, {d.pick(['4', 'n & 7', '7'])}{stages}):")
        self.put(f"    {x} = tl.load({names[0]} + {k} * {n} + {place})")
        step = f"{x} + {k}" if dtype[0] == "i" else f"{x} * 0.5 + {d.between(0, 3)}.0"
        ahead = d.pick([n, n, 0])
        there = f"{names[1]} + {k} * {n} + {ahead} + {place}"
        self.put(f"    tl.store({there}, ({step}).to(tl.{dtype}))")
        new = f"{total} + {x}" if dtype[0] == "i" else f"tl.maximum({total}, {x})"
        self.put(f"    {total} = ({new}).to(tl.{dtype})")
        self.put("tl.debug_barrier()")
        if is_float(dtype):  # of several additions each is rounded, and alike
            self.vars[-1] = Var(total, dtype, (n,), whole=False)

    def atomic(self) -> None:
        d = self.d
        dtype = d.pick(list(ATOMICS))
        op = d.pick(ATOMICS[dtype])
        shape = d.pick(self.shapes)
        counts = self.param(f"c_{op}_{dtype}", "out", dtype, True, N_COUNTS).name
        value = self.expr(Want(dtype, shape))
        if is_float(dtype):  # max and min of -0 and +0 depend on the order
            value += " + 0.0"
        # Whole ones, which stop at 2048 or 256 in whatever order; with -1 they would not.
        if dtype in ("float16", "bfloat16"):
            value = f"tl.minimum(tl.maximum({value}, 0), 1).to(tl.{dtype})"
            value = f"({value}).to(tl.int32).to(tl.{dtype})"
        if d.chance(40):  # neighbours, which may be one instruction
            i = f"{self.index(shape)} + {d.pick(['0', 'n', '8'])}"
        else:
            i = self.expr(Want("int32", shape), 1)
        more = f", mask={self.mask(shape)}" if d.chance(40) else ""
        if d.chance(20):
            more += f', sem="{d.pick(["relaxed", "release", "acq_rel"])}"'
        at = f"{counts} + (({i}) & {N_COUNTS - 1})"
        self.put(f"tl.atomic_{op}({at}, {value}{more})")

    def exchange(self) -> None:
        """Atomics that say what was there, each element at a place of its own."""
        d = self.d
        dtype = d.pick(["int32", "int64", "uint32", "float32"])
        shape = d.pick(self.shapes)
        w = Want(dtype, shape)
        array, at = self.scratch(dtype), self.work(shape)
        p = self.fresh("p")
        ops = ["add", "xchg", "max", "cas"]
        self.put(f"{p} = {array} + {at} + {self.index(shape)}")
        for _ in range(d.between(1, 2)):
            # Who acts on an element is the layout's to say, and may change.
            self.put("tl.debug_barrier()")
            op = d.pick(ops if dtype != "float32" else ["add", "xchg"])
            if op == "cas":
                args = f"{self.expr(w, 1)}, {self.expr(w, 1)}"
            else:
                args = self.expr(w, 1)
                if d.chance(30):
                    args += f", mask={self.mask(shape)}"
            if op == "add" and dtype == "float32":
                self.put(f"tl.atomic_add({p}, {args})")
                continue
            if "mask" in args:  # what masked elements give is undefined
                self.put(f"tl.atomic_{op}({p}, {args})")
            else:
                self.bind(f"tl.atomic_{op}({p}, {args})", w)
        self.put("tl.debug_barrier()")

    def hint(self) -> None:
        """What changes nothing."""
        d = self.d
        place = f"{d.pick(self.inputs).name} + {self.index(d.pick(self.shapes))}"
        hints = [
            "tl.assume(n >= 0)",
            "tl.assume((n < 9) & (big != 0))",
            "tl.assume(big % 16 == 0)",
            'tl.static_assert(C > 0, "C")',
            'tl.device_assert(n < 9, "n")',
            f"tl.prefetch({place})",
        ]
        self.put(d.pick(hints))
