"""Inline assembly, and what it means in the language.

Every machine computes both and counts where they differ: what all of them take a text for
must be what PTX says, too. The counts are parameters of role "zero".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .expr import clamped
from .named import Named
from .scope import Want, is_float, size

N_COUNTS = 64


class Text(NamedTuple):
    asm: str
    form: str  # constraints
    args: tuple[str, ...]  # types
    results: tuple[str, ...]
    means: tuple[str, ...]  # of each result, in the language
    pack: int = 1


TWO, INTS, UINTS = ("int32", "int32"), ("int32",), ("uint32",)
LOOP = """{ .reg .pred p; .reg .b32 t; mov.b32 $0, 0; and.b32 t, $1, 7;
    LOOP_${:uid}: setp.eq.s32 p, t, 0; @p bra END_${:uid};
    add.s32 $0, $0, $2; sub.s32 t, t, 1; bra LOOP_${:uid}; END_${:uid}: }"""
BIGGER = "{ .reg .pred p; setp.gt.s32 p, $1, $2; selp.b32 $0, $1, $2, p; }"
TEXTS = [
    Text("add.s32 $0, $1, $2;", "=r,r,r", TWO, INTS, ("a + b",)),
    Text("mad.lo.s32 $0, $1, $2, $1;", "=r,r,r", TWO, INTS, ("a * b + a",)),
    Text(BIGGER, "=r,r,r", TWO, INTS, ("tl.where(a > b, a, b)",)),
    Text(LOOP, "=&r,r,r", TWO, INTS, ("(a & 7) * b",)),
    Text(
        "{ add.s32 $0, $2, $3; sub.s32 $1, $2, $3; }",
        "=&r,=r,r,r",
        TWO,
        TWO,
        ("a + b", "a - b"),
    ),
    # Of a register that it names twice ptxas 13.0 makes 0 where it merges it with an xor.
    Text("lop3.b32 $0, $1, $2, 3, 0x1e;", "=r,r,r", UINTS * 2, UINTS, ("a ^ (b | 3)",)),
    Text("bfe.u32 $0, $1, 3, 7;", "=r,r", UINTS, UINTS, ("(a >> 3) & 127",)),
    Text(
        "shf.l.wrap.b32 $0, $1, $2, 5;",
        "=r,r,r",
        UINTS * 2,
        UINTS,
        ("(b << 5) | (a >> 27)",),
    ),
    Text("mul.hi.u32 $0, $1, $2;", "=r,r,r", UINTS * 2, UINTS, ("tl.umulhi(a, b)",)),
    Text(
        "prmt.b32 $0, $1, $2, 0x5410;",
        "=r,r,r",
        UINTS * 2,
        UINTS,
        ("(a & 0xffff) | (b << 16)",),
    ),
    Text(
        "mul.wide.u32 $0, $1, $2;",
        "=l,r,r",
        UINTS * 2,
        ("uint64",),
        ("a.to(tl.uint64) * b.to(tl.uint64)",),
    ),
    Text("cvt.rzi.s32.f32 $0, $1;", "=r,f", ("float32",), INTS, ("a.to(tl.int32)",)),
    Text(
        "fma.rn.f32 $0, $1, $2, $1;",
        "=f,f,f",
        ("float32",) * 2,
        ("float32",),
        ("a * b + a",),
    ),
    Text(
        "fma.rn.f16x2 $0, $1, $2, $1;",
        "=r,r,r",
        ("float16",) * 2,
        ("float16",),
        ("a * b + a",),
        2,
    ),
    Text("not.b32 $0, $1;", "=r,r", ("uint16",), ("uint16",), ("~a",), 2),
    Text("and.b32 $0, $1, 0x0f0f0f0f;", "=r,r", ("uint8",), ("uint8",), ("a & 15",), 4),
]


class Assembly(Named):
    def assembly(self) -> None:
        d = self.d
        t = d.pick(TEXTS)
        fitting = [s for s in self.shapes if s and size(s) % t.pack == 0]
        shape = d.pick(fitting)
        names = [self.fresh("a") for _ in t.args]
        for name, dtype in zip(names, t.args, strict=True):
            self.put(f"{name} = {self.expr(Want(dtype, shape), 1)}")
        if t.asm.startswith("lop3"):  # of one register ptxas makes something else
            self.put(f"{names[-1]} += 1")
        results = [self.fresh("s") for _ in t.results]
        types = ", ".join(f"tl.{r}" for r in t.results)
        dtype = types if len(results) == 1 else f"({types})"
        how = f"is_pure={d.chance(70)}, pack={t.pack}"
        call = f'"""{t.asm}""", "{t.form}", [{", ".join(names)}], dtype={dtype}, {how}'
        self.put(f"{', '.join(results)} = tl.inline_asm_elementwise({call})")
        counts = self.param("z_int32", "zero", "int32", True, N_COUNTS).name
        at = f"{counts} + ({self.index(shape)} & {N_COUNTS - 1})"
        values = {"a": names[0], "b": names[-1]}
        for name, r, means in zip(results, t.results, t.means, strict=True):
            text = re.sub(r"\b[ab]\b", lambda m: values[m[0]], means)
            wrong = f"({name} != ({text}).to(tl.{r})).to(tl.int32)"
            self.put(f"tl.atomic_max({at}, {wrong})")
            w = Want(r, shape)
            self.bind(clamped(name, r) if is_float(r) else name, w)
