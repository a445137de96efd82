"""Operators on two tiles of all pairs of types; the functions that are like operators."""

from __future__ import annotations

from collections.abc import Iterator

from case import ALL, FP8, Array, Case, array, width
from element_types import INTS, is_float

ARITHMETIC = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "and": "&",
    "or": "|",
    "xor": "^",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
LOADS = "x = tl.load(a + I)\ny = tl.load(b + I)\n"


def pair(s: str, t: str, right: str = "cross", arg: int = 0) -> tuple[Array, Array]:
    return array("a", s, "edge"), array("b", t, right, arg=arg)


def operators() -> Iterator[Case]:
    for s in ALL:
        for t in ALL:
            for name, op in ARITHMETIC.items():
                yield Case(
                    f"binary/{name}/{s}.{t}", pair(s, t), f"{LOADS}put(x {op} y)"
                )
            for name, op in (("floordiv", "//"), ("mod", "%")):
                body = f"{LOADS}put(x {op} y)"
                yield Case(f"binary/{name}/{s}.{t}", pair(s, t, "divisor"), body)
            bits = max(width(s), width(t)) if not is_float(t) else 2
            if t == "int1":
                bits = 2
            if s == t == "int1":
                bits = 1
            for name, op in (("shl", "<<"), ("shr", ">>")):
                body = f"{LOADS}put(x {op} y)"
                yield Case(f"binary/{name}/{s}.{t}", pair(s, t, "shift", bits), body)


def functions() -> Iterator[Case]:
    two = {
        "maximum": "tl.maximum(x, y)",
        "minimum": "tl.minimum(x, y)",
        "maximum.all": "tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)",
        "minimum.all": "tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)",
        "where": "tl.where(x == x, x, y)",
        "where.not": "tl.where(I % 2 == 0, x, y)",
        "umulhi": "tl.umulhi(x, y)",
        "fdiv": "tl.fdiv(x, y)",
        "fdiv.rn": "tl.fdiv(x, y, ieee_rounding=True)",
        "div_rn": "tl.div_rn(x, y)",
        "add": "tl.add(x, y)",
        "sub": "tl.sub(x, y)",
        "mul": "tl.mul(x, y)",
        "clamp": "tl.clamp(x, y, y)",
        "fma": "tl.fma(x, y, x)",
        "fma.3": "tl.fma(x, x, y)",
        "logical_and": "x.logical_and(y)",
        "logical_or": "x.logical_or(y)",
    }
    for s in ALL:
        for t in ALL:
            for name, text in two.items():
                yield Case(
                    f"function/{name}/{s}.{t}", pair(s, t), f"{LOADS}put({text})"
                )
            if s in INTS and t in INTS:
                body = f"{LOADS}put(tl.cdiv(x, y))"
                yield Case(f"function/cdiv/{s}.{t}", pair(s, t, "divisor"), body)


def scalars() -> Iterator[Case]:
    """A tile and a scalar, two scalars: the same types come out."""
    loads = "x = tl.load(a + {x})\ny = tl.load(b + {y})\n"
    at = {"tile.scalar": ("I", "3"), "scalar.tile": ("20", "I"), "scalars": ("20", "3")}
    for s in ALL:
        for t in ALL:
            for name, (x, y) in at.items():
                for op in ("add", "div", "lt", "and"):
                    body = f"{loads.format(x=x, y=y)}put(x {ARITHMETIC[op]} y)"
                    yield Case(f"{name}/{op}/{s}.{t}", pair(s, t), body)
                body = f"{loads.format(x=x, y=y)}put(tl.where(x == x, x, y))"
                yield Case(f"{name}/where/{s}.{t}", pair(s, t), body)


def unary() -> Iterator[Case]:
    one = {
        "neg": "-x",
        "invert": "~x",
        "not": "not x",
        "pos": "+x",
        "abs": "tl.abs(x)",
        "bool": "x != 0",
        "logical": "x.to(tl.int1)",
        "square": "x * x",
        "abs.builtin": "abs(x)",
        "zeros_like": "tl.zeros_like(x)",
        "mask": "tl.where(x == x, 1, 0)",
        "sum.neg": "x - (-x)",
        "softmax": "tl.softmax(x, dim=0)",
        "sigmoid": "tl.sigmoid(x)",
        "nan": "x != x",
        "twice": "x + x",
        "zero": "0 - x",
        "max_constancy": "tl.max_constancy(x, [1])",
        "multiple_of": "tl.multiple_of(x, [1])",
        "cast.self": "x.to(x.dtype)",
        "scalar_item": "x.cdiv(3)",
    }
    for t in ALL:
        a = (array("a", t, "all"),)
        for name, text in one.items():
            yield Case(f"unary/{name}/{t}", a, f"x = tl.load(a + I)\nput({text})")
        for name in ("neg", "invert", "not", "abs"):
            text = one[name]
            yield Case(
                f"unary.scalar/{name}/{t}", a, f"x = tl.load(a + 9)\nput({text})"
            )


def make() -> Iterator[Case]:
    yield from operators()
    yield from functions()
    yield from scalars()
    yield from unary()


__all__ = ["FP8", "make"]
