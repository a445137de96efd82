"""Tiles that descriptors store, take and combine, partly outside of their tensors."""

from __future__ import annotations

from .expr import clamped
from .large import Large
from .scope import BITS, FLOATS, INTS, Shape, Want, is_float, size

# Of a descriptor, whatever the order.
COMBINED = {
    "int32": ["add", "max", "min", "and", "or", "xor"],
    "uint32": ["add", "max", "min", "and", "or", "xor"],
    "uint64": ["add", "max", "min", "and", "or", "xor"],
    "int64": ["max", "min", "and", "or", "xor"],
    "float32": ["add"],
    "float16": ["add", "max", "min"],
    "bfloat16": ["add", "max", "min"],
}


class Tiles(Large):
    def tensor(self, dtype: str, shape: Shape, rows: int = 0) -> str:
        """A descriptor of scratch memory, with blocks of that shape; of so many rows."""
        d = self.d
        n_bytes = BITS.get(dtype, 8) // 8
        sides = [d.pick([n, n + 3, 2 * n, max(n - 1, 1)]) for n in shape]
        sides[0] = rows or sides[0]
        strides = [-(-sides[-1] * n_bytes // 16) * 16 // n_bytes, 1]
        for n in sides[-2:0:-1]:
            strides.insert(0, strides[0] * n)
        at = self.work((sides[0] * strides[0],))
        about = f"{sides}, {strides[-len(sides) :]}, {list(shape)}"
        if dtype in FLOATS and d.chance(30):
            about += ', padding_option="nan"'
        name = self.fresh("d")
        where = f"{self.scratch(dtype)} + {at}"
        self.put(f"{name} = tl.make_tensor_descriptor({where}, {about})")
        return name

    def corner(self, shape: Shape) -> str:
        at = [self.d.pick(["0", "0", "n", "2", "-1", "-n"]) for _ in shape]
        return f"[{', '.join(at)}]"

    def tile_trip(self) -> None:
        """Stored, perhaps combined with more, and read."""
        d = self.d
        dtype = d.pick([*INTS, *FLOATS, *self.fp8])
        wide = dtype if dtype in BITS else "float32"
        least = 16 * 8 // BITS.get(dtype, 8)  # elements of a row
        fitting = [s for s in self.shapes if s and s[-1] >= least and size(s) <= 512]
        shape = d.pick(fitting)
        w = Want(wide, shape, wide != dtype or d.chance(60))
        v, value = self.fresh("u"), self.expr(w)
        name = self.tensor(dtype, shape)
        self.put(f"{v} = {value if wide == dtype else clamped(value, dtype, 1)}")
        self.put("tl.debug_barrier()")
        if d.chance(20):
            at = f"{name}, {self.corner(shape)}"
            self.put(f"tl.store_tensor_descriptor({at}, {v})")
        else:
            self.put(f"{name}.store({self.corner(shape)}, {v})")
        self.put("tl.debug_barrier()")
        if dtype in COMBINED and (w.whole or not is_float(dtype)) and d.chance(50):
            more = self.expr(w, 1)
            if is_float(dtype):
                more = f"({more} + 0.0).to(tl.{dtype})"
            op = d.pick(COMBINED[dtype])
            self.put(f"{name}.atomic_{op}({self.corner(shape)}, {more})")
            self.put("tl.debug_barrier()")
        read, at = f"{name}.load", self.corner(shape)
        if d.chance(20):
            read, at = "tl.load_tensor_descriptor", f"{name}, {at}"
        read = f"{read}({at}).to(tl.{wide})"
        u = self.bind(read, Want(wide, shape, whole=False)).name
        if is_float(wide):  # no NaN of the padding
            self.put(f"{u} = tl.where({u} == {u}, {u}, 1.0).to(tl.{wide})")

    def rows_trip(self) -> None:
        """Rows that are scattered, to a place each, and gathered in any order, some of them
        outside."""
        d = self.d
        dtype = d.pick([*INTS, *FLOATS])
        n, width = d.pick([8, 16, 32]), d.pick([16, 32, 64])
        w = Want(dtype, (n, width), d.chance(60))
        v, value = self.fresh("u"), self.expr(w, 1)
        name = self.tensor(dtype, (1, width), n + d.pick([0, 3, -2]))
        i = f"tl.arange(0, {n})"
        places = d.pick([i, f"{n - 1} - {i}", f"({i} * 5 + n) & {n - 1}"])
        self.put(f"{v} = {value}")
        self.put("tl.debug_barrier()")
        self.put(f"{name}.scatter({v}, {places}, {d.pick(['0', 'n', '2'])})")
        self.put("tl.debug_barrier()")
        m = d.pick([8, 16, 32])
        wanted = self.simple(Want("int32", (m,)))
        read = f"{name}.gather({wanted} & 31, {d.pick(['0', 'n', '1'])})"
        u = self.bind(read, Want(dtype, (m, width), whole=False)).name
        if is_float(dtype):
            self.put(f"{u} = tl.where({u} == {u}, {u}, 1.0).to(tl.{dtype})")
