"""What looks across a tile: reductions, scans, sorting, gathering.

Floats are small whole numbers where an order of additions is open, so that nothing rounds;
NaN is only where who wins does not depend on the order.
"""

from __future__ import annotations

from collections.abc import Iterator

from case import ALL, FP8, Case, array
from element_types import is_float

TWO = "x = tl.reshape(tl.load(a + I), [8, 32])\n"
ONE = "x = tl.load(a + I)\n"
AXES = (("0", TWO), ("1", TWO), ("-1", TWO), ("None", TWO), ("0", ONE))


def whole(t: str, most: int = 3) -> tuple:
    return (array("a", t, "whole", arg=most),)


def reductions() -> Iterator[Case]:
    for t in ALL:
        # Products and sums of float8 stay exact up to 16 or 8.
        small = whole(t, 1 if t in FP8 else 3)
        any_ = (array("a", t, "all"),)
        for k, (axis, load) in enumerate(AXES):
            at = f"{k}.{axis}"
            for name, args in (
                ("sum", small),
                ("max", any_),
                ("min", any_),
                ("xor_sum", any_),
            ):
                yield Case(
                    f"reduce/{name}.{at}/{t}",
                    args,
                    f"{load}put(tl.{name}(x, axis={axis}))",
                )
                body = f"{load}put(tl.{name}(x, axis={axis}, keep_dims=True))"
                yield Case(f"reduce/{name}.keep.{at}/{t}", args, body)
            for name in ("argmax", "argmin"):
                body = f"{load}put(tl.{name}(x, axis={axis}))"
                yield Case(f"reduce/{name}.{at}/{t}", small, body)
                yield Case(f"reduce/{name}.any.{at}/{t}", any_, body)
                body = f"{load}put(tl.{name}(x, axis={axis}, keep_dims=True))"
                yield Case(f"reduce/{name}.keep.{at}/{t}", small, body)
            for name in ("max", "min"):
                body = f"{load}v, i = tl.{name}(x, axis={axis}, return_indices=True)\nput(v)\nput(i)"
                yield Case(f"reduce/{name}.indices.{at}/{t}", small, body)
            yield Case(
                f"reduce/reduce_or.{at}/{t}",
                any_,
                f"{load}put(tl.reduce_or(x, axis={axis}))",
            )
            for fn in ("plus", "times", "larger", "larger_nan", "exclusive_or"):
                args = small if fn in ("plus", "times") else any_
                if fn == "times":
                    args = whole(t, 1)
                yield Case(
                    f"reduce/fn.{fn}.{at}/{t}",
                    args,
                    f"{load}put(tl.reduce(x, {axis}, {fn}))",
                )
            if axis != "None":
                body = (
                    f"{load}i = tl.broadcast_to(tl.expand_dims(tl.arange(0, 32), 0), [8, 32])\n"
                    if load == TWO
                    else f"{load}i = I\n"
                )
                body += f"v, j = tl.reduce((x, i), {axis}, best)\nput(v)\nput(j)"
                yield Case(f"reduce/fn.best.{at}/{t}", small, body)
        for d in ALL:
            yield Case(
                f"reduce.dtype/sum/{t}.{d}",
                small,
                f"{ONE}put(tl.sum(x, 0, dtype=tl.{d}))",
            )
            body = f"{ONE}put(tl.cumsum(x, 0, dtype=tl.{d}))"
            yield Case(f"reduce.dtype/cumsum/{t}.{d}", small, body)
        for name, text in {
            "sum.method": "x.sum(0)",
            "max.method": "x.max(0)",
            "min.method": "x.min(0)",
            "argmax.method": "x.argmax(0)",
            "xor.method": "x.xor_sum(0)",
            "or.method": "x.reduce_or(0)",
            "cumsum.method": "x.cumsum(0)",
            "sum.all": "tl.sum(x)",
            "max.all": "tl.max(x)",
            "sum.bool": "tl.sum(x == 1)",
            "sum.bool.int": "tl.sum((x == 1).to(tl.int32))",
            "any": "tl.max((x == 1).to(tl.int1), 0)",
            "max.tie.right": "tl.max(x, 0, return_indices=True, return_indices_tie_break_left=False)[0]",
            "argmax.none": "tl.argmax(x, None)",
            "sum.axis2": "tl.sum(x, 2)",
        }.items():
            yield Case(f"reduce/{name}/{t}", small, f"{ONE}put({text})")


def scans() -> Iterator[Case]:
    for t in ALL:
        small, any_ = whole(t, 1 if t in FP8 else 3), (array("a", t, "all"),)
        for k, (axis, load) in enumerate(AXES):
            for reverse in (False, True):
                at = f"{k}.{axis}.{'reverse' if reverse else 'up'}"
                tail = f"axis={axis}, reverse={reverse}"
                yield Case(
                    f"scan/cumsum.{at}/{t}", small, f"{load}put(tl.cumsum(x, {tail}))"
                )
                args = whole(t, 1)
                yield Case(
                    f"scan/cumprod.{at}/{t}", args, f"{load}put(tl.cumprod(x, {tail}))"
                )
                for fn in (
                    "plus",
                    "larger",
                    "larger_nan",
                    "right",
                    "first",
                    "exclusive_or",
                ):
                    args = small if fn == "plus" else any_
                    body = f"{load}put(tl.associative_scan(x, {axis}, {fn}, reverse={reverse}))"
                    yield Case(f"scan/fn.{fn}.{at}/{t}", args, body)


def orders() -> Iterator[Case]:
    for t in ALL:
        # No NaN and one zero: their order is open.
        args = (array("a", t, "whole", arg=100 if t not in FP8 else 8),)
        for load, name in ((ONE, "1d"), (TWO, "2d")):
            for text in (
                "tl.sort(x)",
                "tl.sort(x, descending=True)",
                "tl.sort(x, dim=0)",
                "tl.sort(x, dim=-1)",
                "tl.topk(x, 8)",
                "tl.topk(x, 1)",
                "tl.topk(x, 32)",
                "tl.topk(x, 256)",
                "tl.flip(x, 0)",
                "tl.flip(x, -1)",
                "tl.flip(x, 1)",
                "tl.flip(x)",
                "tl.bitonic_merge(tl.sort(x))",
                "x.flip(0)",
                "x.sort()",
            ):
                yield Case(f"order/{text}/{name}.{t}", args, f"{load}put({text})")
        index = (array("a", t, "all"), array("b", "int32", "perm"))
        for it in ("int32", "int64", "uint8", "int16", "uint32"):
            body = f"{ONE}i = tl.load(b + I).to(tl.{it})\nput(tl.gather(x, i, 0))"
            yield Case(f"gather/1d.{it}/{t}", index, body)
            for axis, side in ((0, 8), (1, 32), (-1, 32)):
                body = f"{TWO}i = tl.reshape(tl.load(b + I) % {side}, [8, 32]).to(tl.{it})\n"
                body += f"put(tl.gather(x, i, {axis}))"
                yield Case(f"gather/2d.{axis}.{it}/{t}", index, body)
        body = f"{ONE}put(tl.gather(x, tl.load(b + tl.arange(0, 16)), 0))"
        yield Case(f"gather/few/{t}", index, body)
        if not is_float(t):
            bins = (array("a", t, "whole", arg=15),)
            at = "tl.abs(x)" if "u" not in t and t != "int1" else "x"
            yield Case(f"histogram/16/{t}", bins, f"{ONE}put(tl.histogram({at}, 16))")
            body = f"{ONE}put(tl.histogram({at}, 16, mask=I % 3 == 0))"
            yield Case(f"histogram/masked/{t}", bins, body)
            yield Case(f"histogram/method/{t}", bins, f"{ONE}put({at}.histogram(16))")
            body = f"{ONE}put(tl.histogram({at}, 16, mask=I))"
            yield Case(f"histogram/number.mask/{t}", bins, body)
        else:
            yield Case(f"histogram/float/{t}", args, f"{ONE}put(tl.histogram(x, 16))")


def make() -> Iterator[Case]:
    yield from reductions()
    yield from scans()
    yield from orders()
