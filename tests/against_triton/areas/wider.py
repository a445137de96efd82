"""Combinations: blocks of every rank, several values reduced at once, orders and scopes of
atomics, block pointers in other orders, functions that return early and pass tuples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from case import FP8, Case, Constant, Scalar, array
from element_types import FLOATS, INTS, is_float

SHAPES = (
    (),
    (1,),
    (2, 128),
    (4, 2, 32),
    (2, 4, 2, 16),
    (2, 2, 4, 2, 8),
    (1, 8, 1, 4, 1),
)
SOME = ("int1", "int8", "uint16", "int32", "int64", "float16", "bfloat16", "float32", "float8e5")  # fmt: skip


def product(shape: tuple[int, ...]) -> int:
    n = 1
    for side in shape:
        n *= side
    return n


def ranks() -> Iterator[Case]:
    for t in SOME:
        args = (array("a", t, "whole", arg=3), array("b", "int32", "perm"))
        for shape in SHAPES:
            n, rank, s = product(shape), len(shape), list(shape)
            x = f"x = tl.reshape(tl.load(a + tl.arange(0, {n})), {s})\n"
            if not shape:
                x = "x = tl.load(a + 3)\n"
            forms = {
                "join": "tl.join(x, x + x)" if t not in FP8 else "tl.join(x, x)",
                "splits": "tl.join(*tl.split(tl.join(x, x)))",
                "flat": f"tl.reshape(x, [{n}])",
                "ravel": "tl.ravel(x)",
                "where": "tl.where(x == x, x, x)",
                "zeros": "tl.zeros_like(x)",
                "full": "tl.full(x.shape, 1, x.dtype)",
                "broadcast": f"tl.broadcast_to(x, {[2, *s]})",
                "broadcast.expand": f"tl.broadcast_to(tl.expand_dims(x, 0), {[2, *s]})",
                "maximum.row": "tl.maximum(x, tl.load(a))",
                "all": "tl.max(x)",
                "sum.all": "tl.sum(x)",
                "xor.all": "tl.xor_sum(x)",
                "interleave": "tl.interleave(x, x)",
                "cat": "tl.cat(x, x)",
                "view": f"tl.view(x, {[*s, 1]})",
                "item": "x.item()",
                "T": "x.T",
            }
            for axis in range(-1, rank + 1):
                forms |= {
                    f"expand.{axis}": f"tl.expand_dims(x, {axis})",
                    f"max.{axis}": f"tl.max(x, {axis})",
                    f"sum.{axis}": f"tl.sum(x, {axis})",
                    f"argmin.{axis}": f"tl.argmin(x, {axis})",
                    f"argmax.right.{axis}": f"tl.argmax(x, {axis}, tie_break_left=False)",
                    f"keep.{axis}": f"tl.min(x, {axis}, keep_dims=True)",
                    f"flip.{axis}": f"tl.flip(x, {axis})",
                    f"cumsum.{axis}": f"tl.cumsum(x, {axis})",
                    f"back.{axis}": f"tl.cumsum(x, {axis}, reverse=True)",
                    f"sort.{axis}": f"tl.sort(x, {axis})",
                    f"topk.{axis}": f"tl.topk(x, 2, {axis})",
                    f"larger.{axis}": f"tl.associative_scan(x, {axis}, larger)",
                }
                if 0 <= axis < rank and t in ("int8", "float32"):
                    side = shape[axis]
                    index = f"tl.reshape(tl.load(b + tl.arange(0, {n})) % {side}, {s})"
                    forms[f"gather.{axis}"] = f"tl.gather(x, {index}, {axis})"
            if rank > 1:
                orders = list(itertools.permutations(range(rank)))
                for order in orders[:: max(1, len(orders) // 8)]:
                    forms[f"permute.{order}"] = f"tl.permute(x, {list(order)})"
                    forms[f"trans.{order}"] = (
                        f"tl.trans(x, {', '.join(map(str, order))})"
                    )
            for name, text in forms.items():
                yield Case(f"rank/{name}/{s}.{t}", args, f"{x}put({text})", room=4096)


PAIRS = """
@triton.jit
def two_sums(x, y, z, w):
    return x + z, y * 1 + w


@triton.jit
def low_and_high(x, y, z, w):
    return tl.minimum(x, z), tl.maximum(y, w)


@triton.jit
def keep_left(x, y, z, w):
    return x, y


@triton.jit
def keep_right(x, y, z, w):
    return z, w


@triton.jit
def mean(x, n, z, m):
    return (x * n + z * m) * 0 + x + z, n + m


@triton.jit
def four(a, b, c, d, p, q, r, s):
    return a + p, tl.minimum(b, q), tl.maximum(c, r), d ^ s
"""


def several() -> Iterator[Case]:
    for t in (*INTS, *FLOATS):
        args = (array("a", t, "whole", arg=3), array("b", t, "whole", arg=2))
        for name, axis, shape in (
            ("1d", 0, [256]),
            ("rows", 1, [8, 32]),
            ("columns", 0, [8, 32]),
            ("deep", 1, [4, 8, 8]),
        ):
            xy = f"x = tl.reshape(tl.load(a + I), {shape})\ny = tl.reshape(tl.load(b + I), {shape})\n"
            for fn in ("two_sums", "low_and_high", "keep_left", "keep_right", "mean"):
                for kind, call in {
                    "reduce": f"tl.reduce((x, y), {axis}, {fn})",
                    "reduce.keep": f"tl.reduce((x, y), {axis}, {fn}, keep_dims=True)",
                    "reduce.mixed": f"tl.reduce((x, tl.reshape(I, {shape})), {axis}, {fn})",
                    "scan": f"tl.associative_scan((x, y), {axis}, {fn})",
                    "scan.back": f"tl.associative_scan((x, y), {axis}, {fn}, reverse=True)",
                }.items():
                    if fn.startswith("keep") and kind.startswith("reduce"):
                        continue  # whose is left depends on the order
                    body = f"{xy}p, q = {call}\nput(p)\nput(q)"
                    yield Case(f"several/{kind}.{fn}/{name}.{t}", args, body, helpers=PAIRS)  # fmt: skip
            if not is_float(t):
                body = f"{xy}p, q, r, s = tl.reduce((x, y, x + y, x), {axis}, four)\nput(p)\nput(q)\nput(r)\nput(s)"
                yield Case(f"several/four/{name}.{t}", args, body, helpers=PAIRS)


def ties() -> Iterator[Case]:
    """NaN, both zeros and equal elements."""
    for t in (*FLOATS, "int8", "int32", "uint64"):
        for kind, args in (
            ("edge", (array("a", t, "edge"),)),
            ("cross", (array("a", t, "cross"),)),
            ("ties", (array("a", t, "whole", arg=2),)),
        ):
            for axis, load in (
                ("0", "x = tl.load(a + I)\n"),
                ("1", "x = tl.reshape(tl.load(a + I), [16, 16])\n"),
            ):
                for f, left in itertools.product(("max", "min"), (True, False)):
                    more = f"return_indices=True, return_indices_tie_break_left={left}"
                    body = f"{load}v, i = tl.{f}(x, {axis}, {more})\nput(v)"
                    # Which index has a NaN depends on the order.
                    body += "\nput(i)" * (kind == "ties")
                    yield Case(f"ties/{f}.{left}/{kind}.{axis}.{t}", args, body)
                    body = f"{load}put(tl.arg{f}(x, {axis}, tie_break_left={left}))"
                    if kind == "ties":
                        yield Case(f"ties/arg{f}.{left}/{axis}.{t}", args, body)
                for f in ("max", "min"):
                    body = f"{load}put(tl.{f}(x, {axis}, return_indices=False))"
                    yield Case(f"ties/{f}/{kind}.{axis}.{t}", args, body)


def orders() -> Iterator[Case]:
    sems = ("relaxed", "acquire", "release", "acq_rel")
    scopes = ("gpu", "cta", "sys")
    for t in ("int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"):  # fmt: skip
        args = (array("a", t, "whole", arg=3), array("b", t, "zero"))
        for op, sem, scope in itertools.product(
            ("add", "max", "min", "and", "or", "xor", "xchg"), sems, scopes
        ):
            call = f"tl.atomic_{op}(b + I, x, mask=I % 3 != 1, sem='{sem}', scope='{scope}')"
            body = f"x = tl.load(a + I)\np = {call}\nput(tl.where(I % 3 != 1, p, x))"
            yield Case(f"order.atomic/{op}/{sem}.{scope}.{t}", args, body)
        for sem, scope in itertools.product(sems, scopes):
            call = f"tl.atomic_cas(b + I, x - x, x, sem='{sem}', scope='{scope}')"
            body = f"x = tl.load(a + I)\nput({call})"
            yield Case(f"order.atomic/cas/{sem}.{scope}.{t}", args, body)
        for op in ("add", "max", "min", "and", "or", "xor"):
            for text, name in (
                ("I // 16", "same"),
                ("I * 0", "one"),
                ("255 - I", "turned"),
                ("tl.reshape(I, [16, 16])", "2d"),
            ):
                x = (
                    "tl.load(a + I)"
                    if name != "2d"
                    else "tl.reshape(tl.load(a + I), [16, 16])"
                )
                body = f"tl.atomic_{op}(b + {text}, {x})\nput(I)"
                yield Case(f"order.places/{op}/{name}.{t}", args, body)


def windows() -> Iterator[Case]:
    for t in ("int8", "int32", "float16", "float32", "int64"):
        a = (array("a", t, "all", 1024),)
        for order, pad, check, strides, at in itertools.product(
            ("(1, 0)", "(0, 1)"),
            ("", "zero", "nan"),
            ("(0,)", "(1,)", "(0, 1)"),
            ("(24, 1)", "(1, 24)"),
            ("(0, 0)", "(14, 3)", "(-2, 13)"),
        ):
            made = f"p = tl.make_block_ptr(a, (20, 18), {strides}, {at}, (8, 16), {order})\n"
            more = f", padding_option='{pad}'" if pad else ""
            # What is not checked must lie within memory.
            if at == "(-2, 13)" and "0" not in check:
                continue
            # Of what lies beyond nothing is said without padding.
            if pad:
                text = f"tl.load(p, boundary_check={check}{more})"
                name = f"{check}.{pad}.{order}.{strides}.{at}"
                yield Case(f"window/load/{name}.{t}", a, f"{made}put({text})")
        for name, text in {
            "3d": "p = tl.make_block_ptr(a, (3, 5, 18), (120, 24, 1), (1, 2, 4), (2, 4, 16), (2, 1, 0))\nput(tl.load(p, boundary_check=(0, 1, 2), padding_option='zero'))",
            "3d.turned": "p = tl.make_block_ptr(a, (18, 5, 3), (1, 24, 120), (4, 2, 1), (16, 4, 2), (0, 1, 2))\nput(tl.load(p, boundary_check=(0, 1, 2), padding_option='zero'))",
            "1d": "p = tl.make_block_ptr(a, (100,), (3,), (50,), (64,), (0,))\nput(tl.load(p, boundary_check=(0,), padding_option='zero'))",
            "walk": "p = tl.make_block_ptr(a, (20, 18), (24, 1), (0, 0), (4, 8), (1, 0))\ns = tl.zeros([4, 8], tl.float32)\nfor i in range(6):\n    s = s * 0 + tl.load(p, boundary_check=(0, 1), padding_option='zero').to(tl.float32)\n    p = tl.advance(p, (3, 2))\nput(s)",
            "conditional": "p = tl.make_block_ptr(a, (20, 18), (24, 1), (0, 0), (4, 8), (1, 0))\nif tl.program_id(0) == 0:\n    p = tl.advance(p, (3, 2))\nput(tl.load(p))",
            "run.time": "n = tl.program_id(0) + 3\np = tl.make_block_ptr(a, (20 - n, 18), (24, 1), (n, n * 2), (16, 16), (1, 0))\nput(tl.load(p, boundary_check=(0, 1), padding_option='zero'))",
        }.items():
            yield Case(f"window/{name}/{t}", a, text)


CALLED = """
@triton.jit
def early(x, n):
    if n > 3:
        return x + 1
    if n == 2:
        return x * 2
    return x - 1


@triton.jit
def nested(x, n: tl.constexpr):
    if n == 0:
        return x
    else:
        return nested(x * 2 + n, n - 1)


@triton.jit
def swap(pair):
    return pair[1], pair[0]


@triton.jit
def deep(t):
    (x, y), z = t
    return (z, (y, x)), x + y


@triton.jit
def named(x, *, scale: tl.constexpr = 3, add=1):
    return x * scale + add


@triton.jit
def length(t):
    return len(t)


@triton.jit
def nothing(p, x):
    tl.store(p, x)


@triton.jit
def choose(x, which: tl.constexpr):
    if which == "twice":
        r = x + x
    elif which == "square":
        r = x * x
    else:
        tl.static_assert(False, "which?")
        r = x
    return r


@triton.jit
def branches(x, n):
    if n > 1:
        if n > 5:
            y = x + 10
        else:
            y = x + 20
    else:
        y = x
        while n < 3:
            y += n
            n += 1
    return y, n
"""


def calls() -> Iterator[Case]:
    for t in ("int8", "int32", "uint32", "int64", "float16", "float32"):
        for n in (0, 2, 5, 9):
            args = (array("a", t, "whole", arg=3), Scalar("n", n), Constant("C", n))
            x = "x = tl.load(a + I)\n"
            for name, text in {
                "early": "put(early(x, n))",
                "early.constexpr": "put(early(x, C))",
                "early.scalar": "put(early(tl.load(a + n), n))",
                "nested": "put(nested(x, C))",
                "nested.3": "put(nested(x, 3))",
                "swap": "p, q = swap((x, n))\nput(p + x)\nput(q)",
                "swap.literal": "p, q = swap((x, 4))\nput(x + p)\nput(q)",
                "deep": "u, z = deep(((x, x * 2), x * 3))\nput(u[0])\nput(u[1][0])\nput(u[1][1])\nput(z)",
                "named": "put(named(x))",
                "named.both": "put(named(x, add=n, scale=C))",
                "length": "put(x * length((1, x, n)))",
                "choose": "put(choose(x, 'square'))",
                "choose.not": "put(choose(x, 'other'))",
                "branches": "p, q = branches(x, n)\nput(p)\nput(q)",
                "branches.constexpr": "p, q = branches(x, C)\nput(p)",
                "tuple.loop": "u = (x, x + 1)\nfor i in range(n):\n    u = (u[1], u[0] + i)\nput(u[0])\nput(u[1])",
                "tuple.static": "u = (1, 2, 3)\nfor i in tl.static_range(3):\n    x += u[i] * C\nput(x)",
                "tuple.slice": "u = (x, n, C, 7)\nput(u[1:][0] + x)\nput(u[-1] + x)",
                "tuple.add": "u = (x,) + (n, C)\nput(u[2] + u[0])",
                "tuple.equal": "put(x * ((1, 2) == (1, 2)))",
                "constexpr": "k: tl.constexpr = C * 2 + 1\nput(x * k)",
                "ternary": "put(x if C > 2 else x + 1)",
                "ternary.run": "put(tl.load(a) if n > 2 else tl.load(a + 1))",
                "and": "put(x * (1 if C and C > 2 else 0))",
                "or": "put((n > 2) or (n == 0))",
                "not": "put(not n)",
                "in.if": "if n > 2:\n    y = x + 1\nelse:\n    y = x.to(x.dtype)\nput(y)",
                "if.type": "if n > 2:\n    y = x + 1\nelse:\n    y = x.to(tl.float64)\nput(y)",
                "if.static": "if C > 2:\n    y = x + 1\nelse:\n    y = x.to(tl.float64)\nput(y)",
                "return": "put(x)\nif n > 2:\n    return\nput(x + 1)",
                "return.static": "put(x)\nif C > 2:\n    return\nput(x + 1)",
                "while": "i = n\nwhile i < 12:\n    x += i\n    i += 5\nput(x)\nput(i)",
                "while.never": "i = n\nwhile i < 0:\n    x += i\n    i += 5\nput(x)\nput(i)",
                "for.never": "for i in range(n, n):\n    x += i\nput(x)",
                "for.n": "for i in range(n):\n    x += i\nput(x)",
                "for.static": "for i in tl.static_range(C):\n    x += i\nput(x)",
                "for.back": "for i in range(9, 0, -2):\n    x += i * n\nput(x)",
                "for.nested": "for i in range(n):\n    for j in range(i):\n        x = x * 3 + j\nput(x)",
                "for.if": "for i in range(n):\n    if i % 2 == 0:\n        x = x + i\nput(x)",
                "for.type": "y = 0\nfor i in range(n):\n    y += x\nput(y)",
                "for.scalar": "y = 0\nfor i in range(n):\n    y += i\nput(y)",
                "for.float": "y = 0.0\nfor i in range(n):\n    y += i\nput(y)",
                "assert": "tl.static_assert(C < 100, 'large')\nput(x)",
                "assert.not": "tl.static_assert(C > 100, 'small')\nput(x)",
                "device.assert": "tl.device_assert(x == x, 'no')\nput(x)",
                "print": "tl.static_print('x', C)\nput(x)",
                "format": "k: tl.constexpr = f'{C}'\nput(x * len(k))" ,
                "list": "u = [x, x + 1]\nput(u[1])",
                "comprehension": "u = [x + i for i in range(3)]\nput(u[2])",
                "global": "put(x + I_LEN)",
                "min": "put(min(C, 3) + x)",
                "max.run": "put(max(n, 3) + x)",
                "abs": "put(tl.abs(x))",
                "range.tensor": "m = tl.load(a).to(tl.int32) * 0 + n\nfor i in range(m):\n    x += i\nput(x)",
                "lambda.less": "put(tl.where(x > n, x, n))",
                "augmented": "x += n\nx *= 2\nx -= C\nput(x)",
                "augmented.div": "x /= 2\nput(x)",
                "augmented.shift": "x <<= 1\nput(x)",
                "chained": "put((0 < C) * x)",
                "del": "y = x\nx = y + 1\nput(x)\nput(y)",
                "pass": "if n > 2:\n    pass\nput(x)",
                "else": "if n > 2:\n    pass\nelse:\n    x = x + 1\nput(x)",
                "unused": "y = x * n\nput(x)",
                "cdiv": "put(tl.cdiv(n, 4) + x)",
                "cdiv.constexpr": "k: tl.constexpr = tl.cdiv(C, 4)\nput(x + k)",
                "next": "k: tl.constexpr = triton.next_power_of_2(C + 1)\nput(x + k)",
                "store": "nothing(o + 0, x.to(tl.uint8)[None, :] if False else 0)\nput(x)",
            }.items():  # fmt: skip
                helped = any(w in text for w in ("early(", "nested(", "swap(", "deep(", "named(", "length(", "nothing(", "choose(", "branches("))  # fmt: skip
                yield Case(
                    f"call/{name}/{n}.{t}", args, f"{x}{text}", helpers=CALLED if helped else ""
                )  # fmt: skip


def make() -> Iterator[Case]:
    yield from ranks()
    yield from several()
    yield from ties()
    yield from orders()
    yield from windows()
    yield from calls()
