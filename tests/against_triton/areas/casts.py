"""Casts between all types, of numbers that fit, of numbers that do not, of bits."""

from __future__ import annotations

from collections.abc import Iterator

from case import ALL, FP8, Case, array, width
from element_types import FLOATS, INTS, is_float


def kernel(t: str) -> str:
    return f"tl.{t}"


def make() -> Iterator[Case]:
    load = "x = tl.load(a + I)\n"
    for s in ALL:
        for t in ALL:
            to = kernel(t)
            kinds = {"odd": (array("a", s, "edge"),), "all": (array("a", s, "all"),)}
            if is_float(s) and not is_float(t):
                # The odd ones are beyond any integer; what fits is another case.
                kinds["fits"] = (array("a", s, "finite", arg=t),)
            for kind, args in kinds.items():
                yield Case(f"cast.{kind}/{s}/{t}", args, f"{load}put(x.to({to}))")
            args = kinds["all"]
            yield Case(f"cast.tl/{s}/{t}", args, f"{load}put(tl.cast(x, {to}))")
            yield Case(
                f"cast.scalar/{s}/{t}", args, f"x = tl.load(a + 17)\nput(x.to({to}))"
            )
            yield Case(f"bitcast/{s}/{t}", args, f"{load}put(x.to({to}, bitcast=True))")
            for mode in ("rtne", "rtz", "rtn"):
                body = f'{load}put(x.to({to}, fp_downcast_rounding="{mode}"))'
                yield Case(f"cast.{mode}/{s}/{t}", args, body)
            # What a store does by itself.
            n = 256
            body = f"{load}tl.store(b + I, x)\nput(x == x)"
            out = array("b", t, "zero", n)
            yield Case(f"store/{s}/{t}", (args[0], out), body)
    for v in (
        "3",
        "-1",
        "2.5",
        "1e9",
        "True",
        "float('nan')",
        "float('inf')",
        "300",
        "-0.0",
    ):
        for t in ALL:
            yield Case(f"cast.literal/{t}/{v}", (), f"put(tl.cast({v}, {kernel(t)}))")
    for t in (*INTS, *FLOATS, *FP8, "int1"):
        a = (array("a", t, "finite" if is_float(t) else "all", arg="int8"),)
        wide = "tl.int64" if width(t) <= 32 else "tl.float64"
        for name, text in {
            "twice": "x.to(tl.float32).to(x.dtype)",
            "there.back": f"x.to({wide}).to(x.dtype)",
            "half": "x.to(tl.float16).to(x.dtype)",
            "bf16": "x.to(tl.bfloat16).to(x.dtype)",
            "bool": "x.to(tl.int1).to(x.dtype)",
            "byte": "x.to(tl.int8).to(tl.int32)",
            "ubyte": "tl.abs(x).to(tl.uint8).to(tl.float32)",
        }.items():
            yield Case(f"cast.chain/{t}/{name}", a, f"{load}put({text})")
