"""Loops and their options, hints, tuples, functions of single elements; products in loops
under every number of warps and stages."""

from __future__ import annotations

from collections.abc import Iterator

from case import ALL, Case, Constant, Scalar, array

STEPS = (
    "10, 0, -3",
    "0, 10, 3",
    "3, 3",
    "5, 1",
    "-5, 6, 5",
    "0, -1, -1",
    "7",
    "9, -9, -7",
)
RANGES = (
    "range({})",
    "tl.range({})",
    "tl.static_range({})",
    "tl.range({}, num_stages=3)",
    "tl.range({}, loop_unroll_factor=2)",
    "tl.range({}, loop_unroll_factor=3)",
    "tl.range({}, flatten=True)",
    "tl.range({}, disallow_acc_multi_buffer=True)",
    "tl.range({}, disable_licm=True)",
)

HELPERS = """
@triton.jit
def order(x, y):
    if x < y:
        r = -1
    elif x == y:
        r = 0
    else:
        r = 1
    return r


@triton.jit
def both_ways(x, y):
    return x + y, x - y


@triton.jit
def swap_if(x, y, z, w):
    take = x > z
    return tl.where(take, x, z), tl.where(take, y, w)


@triton.jit
def sums(x, y, z, p, q, r):
    return x + p, tl.maximum(y, q), z * 1 + r


@triton.jit
def linear(x, y, z, w):
    return x * z, y * z + w


@triton.jit
def of_tuple(t):
    return t[0] + t[1], (t[1], t[0])
"""


def loops() -> Iterator[Case]:
    a = (array("a", "int32", "all"),)
    for steps in STEPS:
        for form in RANGES:
            body = f"s = tl.load(a + I)\nfor i in {form.format(steps)}:\n    s = s * 3 + i\nput(s)"
            yield Case(f"loop/{form}/{steps}", a, body)
    for start, stop, step in (
        (10, 0, -3),
        (0, 20, 7),
        (5, 5, 2),
        (-3, -30, -9),
        (0, 2**33, 2**31),
    ):
        args = (*a, Scalar("p", start), Scalar("q", stop), Scalar("r", step))
        for form in ("range", "tl.range"):
            body = f"s = tl.load(a + I)\nfor i in {form}(p, q, r):\n    s = s * 3 + i.to(tl.int32)\nput(s)"
            yield Case(f"loop.launched/{form}/{start}.{stop}.{step}", args, body)
        args = (*a, Scalar("p", start), Scalar("q", stop), Constant("r", step))
        body = "s = tl.load(a + I)\nfor i in range(p, q, r):\n    s = s * 3 + i.to(tl.int32)\nput(s)"
        yield Case(f"loop.launched/constexpr/{start}.{stop}.{step}", args, body)
    x = "x = tl.load(a + I)\n"
    for name, text in {
        "while": "n = 5\nwhile n > 0:\n    x = x * 3 + n\n    n -= 2\nput(x)",
        "while.tensor": "n = tl.load(a) % 8\nwhile n < 20:\n    x = x + n\n    n += 3\nput(x)\nput(n)",
        "while.and": "n = 0\nm = 9\nwhile (n < 6) & (m > 5):\n    n += 1\n    m -= 2\nput(n)\nput(m)",
        "nested": "for i in range(3):\n    for j in range(i, 4):\n        x = x * 5 + i * j\nput(x)",
        "if": "for i in range(6):\n    if i % 2 == 0:\n        x = x + i\n    else:\n        x = x * 3\nput(x)",
        "if.tensor": "n = tl.load(a)\nif n > 0:\n    y = x + 1\nelse:\n    y = x - 1\nput(y)",
        "zero": "y = x\nfor i in range(0):\n    y = y + 1\nput(y)",
        "index": "i = 77\nfor i in range(4):\n    x = x + i\nput(i)",
        "index64": "s = x.to(tl.int64)\nfor i in range(2147483646, 2147483650):\n    s += i\nput(s)",
        "wide.index": "j = I.to(tl.int64) * 4294967296\nput(tl.load(a + j // 4294967296))",
        "wide.negative": "j = I.to(tl.int64) - 4294967296\nput(tl.load(a + (j + 4294967296)))",
        "wide.add": "p = a + tl.full([256], 4294967296, tl.int64)\nput(tl.load(p - 4294967296 + I))",
        "carry.tuple": "p = (x, x + 1)\nfor i in range(3):\n    p = (p[1], p[0] + i)\nput(p[0])\nput(p[1])",
        "unroll.tuple": "p = (1, 2, 3)\ns = x\nfor i in tl.static_range(len(p)):\n    s = s * 3 + p[i]\nput(s)",
        "assume": "n = tl.program_id(0)\ntl.assume(n >= 0)\nput(tl.load(a + I + n))",
        "multiple": "put(tl.load(a + tl.multiple_of(tl.program_id(0) * 16, 16) + I))",
        "contiguous": "put(tl.load(a + tl.max_contiguous(I, 256)))",
        "both.hints": "put(tl.load(a + tl.max_contiguous(tl.multiple_of(I, 256), 256)))",
        "constancy": "put(tl.load(a + tl.max_constancy(I // 16, 16)))",
        "turned": "j = 255 - I\nput(tl.load(a + j) - tl.load(a + (j ^ 255)))",
    }.items():
        yield Case(f"control/{name}/int32", a, f"{x}{text}")


def elements() -> Iterator[Case]:
    for t in ALL:
        args = (array("a", t, "whole", arg=3), array("b", t, "whole", arg=2))
        xy = "x = tl.load(a + I)\ny = tl.load(b + I)\n"
        for name, text in {
            "map": "put(tl.map_elementwise(order, x, y))",
            "map.pair": "p, q = tl.map_elementwise(both_ways, x, y)\nput(p)\nput(q)",
            "map.scalar": "put(tl.map_elementwise(order, tl.load(a), tl.load(b)))",
            "map.broadcast": "put(tl.map_elementwise(order, x, tl.load(b)))",
            "scan.pair": "p, q = tl.associative_scan((x, I), 0, swap_if)\nput(p)\nput(q)",
            "scan.pair.back": "p, q = tl.associative_scan((x, I), 0, swap_if, reverse=True)\nput(p)\nput(q)",
            "scan.linear": "p, q = tl.associative_scan((x.to(tl.int32) % 2, I % 3), 0, linear)\nput(p)\nput(q)",
            "scan.linear.back": "p, q = tl.associative_scan((x.to(tl.int32) % 2, I % 3), 0, linear, reverse=True)\nput(p)\nput(q)",
            "reduce.pair": "p, q = tl.reduce((x, I), 0, best)\nput(p)\nput(q)",
            "reduce.three": "p, q, r = tl.reduce((I, I * 2, I % 5), 0, sums)\nput(p)\nput(q)\nput(r)",
            "reduce.three.2d": "i = tl.reshape(I, [16, 16])\np, q, r = tl.reduce((i, i * 2, i % 5), 1, sums, keep_dims=True)\nput(p)\nput(q)\nput(r)",
            "tuple": "u, v = of_tuple((x, y))\nput(v[0])\nput(v[1])",
            "tuple.sum": "u, v = of_tuple((x, y))\nput(u)",
        }.items():
            yield Case(f"elements/{name}/{t}", args, f"{xy}{text}", helpers=HELPERS)


def assembly() -> Iterator[Case]:
    args = (array("a", "int32", "all"), array("b", "int32", "all", arg=1))
    xy = "x = tl.load(a + I)\ny = tl.load(b + I)\n"
    f = ", dtype=tl.{}, is_pure={}, pack={}"
    calls = {
        "add": ("'add.s32 $0, $1, $2;', '=r,r,r', [x, y]", "int32", 1),
        "impure": ("'add.s32 $0, $1, $2;', '=r,r,r', [x, y]", "int32", 1),
        "perm": ("'prmt.b32 $0, $1, $2, 0x5410;', '=r,r,r', [x, y]", "int32", 1),
        "lop3": ("'lop3.b32 $0, $1, $2, $1, 0x6a;', '=r,r,r', [x, y]", "int32", 1),
        "bfe": ("'bfe.u32 $0, $1, 5, 9;', '=r,r', [x]", "uint32", 1),
        "float": ("'cvt.rn.f32.s32 $0, $1;', '=f,r', [x]", "float32", 1),
        "bytes": ("'and.b32 $0, $1, 0x7f7f7f7f;', '=r,r', [x.to(tl.int8)]", "int8", 4),
        "halves": ("'xor.b32 $0, $1, 0x00010001;', '=r,r', [x.to(tl.int16)]", "int16", 2),
        "wide": ("'cvt.s64.s32 $0, $1;', '=l,r', [x]", "int64", 1),
        "two.steps": ("'{ .reg .b32 t; add.s32 t, $1, $2; shl.b32 $0, t, 1; }', '=r,r,r', [x, y]", "int32", 1),
        "broadcast": ("'sub.s32 $0, $1, $2;', '=r,r,r', [x, tl.load(b)]", "int32", 1),
    }  # fmt: skip
    for name, (text, dtype, n) in calls.items():
        tail = f.format(dtype, name != "impure", n)
        body = f"{xy}put(tl.inline_asm_elementwise({text}{tail}))"
        yield Case(f"assembly/{name}/int32", args, body)
    body = "p, q = tl.inline_asm_elementwise('add.s32 $0, $2, $3; sub.s32 $1, $2, $3;', '=&r,=r,r,r', [x, y], dtype=(tl.int32, tl.int32), is_pure=True, pack=1)\nput(p)\nput(q)"
    yield Case("assembly/pair/int32", args, f"{xy}{body}")


def products() -> Iterator[Case]:
    loop = """m = tl.arange(0, {m})
n = tl.arange(0, {n})
k = tl.arange(0, {k})
s = tl.zeros([{m}, {n}], tl.{acc})
for i in tl.range(0, 4{more}):
    x = tl.load(a + m[:, None] * {all} + (k + i * {k})[None, :])
    y = tl.load(b + (k + i * {k})[:, None] * {n} + n[None, :])
    s = tl.dot(x, y, s, {how}out_dtype=tl.{acc})
put(s)"""
    for t in (
        "float16",
        "bfloat16",
        "float32",
        "int8",
        "float8e5",
        "float8e4nv",
        "float64",
    ):
        acc = {"int8": "int32", "float64": "float64"}.get(t, "float32")
        args = (array("a", t, "whole", 16384, 1), array("b", t, "whole", 16384, 1))
        for m, n, k in (
            (16, 16, 32),
            (64, 32, 32),
            (32, 64, 64),
            (64, 64, 32),
            (128, 64, 32),
        ):
            for warps in (1, 2, 4, 8):
                for stages in (1, 2, 3, 5):
                    text = loop.format(
                        m=m, n=n, k=k, all=4 * k, acc=acc, more="", how=""
                    )
                    yield Case(
                        f"product/{m}x{n}x{k}.{warps}.{stages}/{t}", args, text,
                        room=m * n * 8, warps=warps, options={"num_stages": stages},
                    )  # fmt: skip
                text = loop.format(
                    m=m, n=n, k=k, all=4 * k, acc=acc, more=", num_stages=4", how=""
                )
                yield Case(
                    f"product/{m}x{n}x{k}.{warps}.range/{t}",
                    args,
                    text,
                    room=m * n * 8,
                    warps=warps,
                )
    args = (
        array("a", "float32", "whole", 16384, 3),
        array("b", "float32", "whole", 16384, 3),
    )
    for p in ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"):
        for warps in (1, 4, 8):
            for m, n, k in ((16, 16, 16), (64, 64, 32), (32, 16, 64)):
                how = f"input_precision='{p}', "
                text = loop.format(
                    m=m, n=n, k=k, all=4 * k, acc="float32", more="", how=how
                )
                yield Case(
                    f"product.precision/{p}.{warps}/{m}x{n}x{k}",
                    args,
                    text,
                    room=m * n * 8,
                    warps=warps,
                )


def make() -> Iterator[Case]:
    yield from loops()
    yield from elements()
    yield from assembly()
    yield from products()
