"""Python's numbers in kernels: weak beside tiles, typed where they decay, folded alone."""

from __future__ import annotations

from collections.abc import Iterator

from case import ALL, Case, Scalar, array

FEW = ("0", "1", "-1", "3", "255", "2147483648", "0.5", "True")
MANY = (
    *FEW,
    "2",
    "-7",
    "127",
    "128",
    "-128",
    "-129",
    "256",
    "65535",
    "65536",
    "2147483647",
    "-2147483648",
    "-2147483649",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.0",
    "-0.0",
    "-1.5",
    "1e-40",
    "3.5e38",
    "1e308",
    "float('inf')",
    "float('nan')",
    "False",
)
OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "lt": "<",
    "eq": "==",
    "and": "&",
    "or": "|",
}
DIVIDING = {"div": "/", "floordiv": "//", "mod": "%"}


def beside_tiles() -> Iterator[Case]:
    load = "x = tl.load(a + I)\n"
    for t in ALL:
        a = (array("a", t, "edge"),)
        whole = (array("a", t, "divisor"),)
        texts: dict[str, str] = {}
        for v in MANY:
            w = f"({v})" if v.startswith("-") else v
            texts |= {
                f"add.{v}": f"x + {w}",
                f"radd.{v}": f"{w} + x",
                f"lt.{v}": f"x < {w}",
                f"maximum.{v}": f"tl.maximum(x, {v})",
                f"where.{v}": f"tl.where(x == x, x, {v})",
                f"rwhere.{v}": f"tl.where(x != x, {v}, x)",
                f"full.{v}": f"tl.full([4], {v}, x.dtype)",
            }
        for v in FEW:
            w = f"({v})" if v.startswith("-") else v
            for name, op in OPERATORS.items():
                texts[f"{name}.{v}"] = f"x {op} {w}"
                texts[f"r{name}.{v}"] = f"{w} {op} x"
            texts |= {
                f"fma.{v}": f"tl.fma(x, x, {v})",
                f"minimum.{v}": f"tl.minimum({v}, x)",
                f"clamp.{v}": f"tl.clamp(x, {v}, 100.0)",
                f"cdiv.{v}": f"tl.cdiv(x, {v})"
                if v not in ("0", "-1")
                else "tl.cdiv(x, 7)",
                f"fdiv.{v}": f"tl.fdiv(x, {v})",
            }
            if v not in ("0", "-1"):
                for name, op in DIVIDING.items():
                    texts[f"{name}.{v}"] = f"x {op} {w}"
        for v in ("0", "1", "3", "7"):
            texts[f"shl.{v}"] = f"x << {v}"
            texts[f"shr.{v}"] = f"x >> {v}"
        for name, text in texts.items():
            yield Case(f"literal/{t}/{name}", a, f"{load}put({text})")
        for v in FEW[1:]:
            for name, op in DIVIDING.items():
                body = (
                    f"{load}put({v} {op} x)" if v != "-1" else f"{load}put((-1) {op} x)"
                )
                yield Case(f"literal/{t}/r{name}.{v}", whole, body)
        # A name is a tensor, unless it is annotated; an argument and what a function
        # returns too.
        for v in ("3", "-1", "0.5", "True", "2147483648", "1e-40"):
            for kind, line in {
                "name": f"c = {v}\nput(x + c)",
                "constexpr": f"c: tl.constexpr = {v}\nput(x + c)",
                "argument": f"put(plus(x, {v}))",
                "argument.left": f"put(plus({v}, x))",
                "returned": f"put(x + first({v}, x))",
                "name.div": f"c = {v}\nput(x / c)",
                "constexpr.div": f"c: tl.constexpr = {v}\nput(x / c)",
                "augmented": f"x += {v}\nput(x)",
                "augmented.mul": f"x *= {v}\nput(x)",
                "ternary": f"put(x + ({v} if x.dtype == tl.int8 else 2))",
            }.items():
                yield Case(f"decay/{t}/{kind}.{v}", a, f"{load}{line}")


def launched() -> Iterator[Case]:
    """Numbers given at the launch."""
    for v in (5, -3, 16, 1, 0, 2**31, 2**40, 2**63, -(2**40), True, False, 0.5, 1.0):
        for t in ALL:
            args = (array("a", t, "edge"), Scalar("s", v))
            ops = {
                "add": "x + s",
                "rmul": "s * x",
                "lt": "x < s",
                "where": "tl.where(x == x, x, s)",
            }
            ops |= {"div": "x / s", "maximum": "tl.maximum(x, s)", "and": "x & s"}
            if v:
                ops |= {"mod": "x % s", "floordiv": "x // s"}
            for name, text in ops.items():
                yield Case(
                    f"launched/{t}/{name}.{v}", args, f"x = tl.load(a + I)\nput({text})"
                )
        args = (array("a", "int8"), Scalar("s", v))
        for name, text in {
            "itself": "s + 0",
            "float": "s * 1.0",
            "twice": "s + s",
            "cdiv": "tl.cdiv(s, 4)",
            "full": "tl.full([4], s, tl.int32)",
            "full.float": "tl.full([4], s, tl.float16)",
            "to": "tl.cast(s, tl.int16)",
            "where": "tl.where(s > 3, 1, 2.5)",
            "arange": "tl.arange(0, 4) + s",
            "neg": "-s",
            "invert": "~s",
            "shift": "s << 2",
        }.items():
            yield Case(f"launched/{name}/{v}", args, f"put({text})")


FOLDED = (
    "7 // 2",
    "-7 // 2",
    "7 // -2",
    "-7 % 3",
    "7 % -3",
    "7.5 // 2",
    "-7.5 % 2",
    "7 / 2",
    "6 / 3",
    "2 ** 10",
    "2 ** -1",
    "1 << 31",
    "1 << 32",
    "1 << 40",
    "-1 >> 1",
    "~5",
    "~0",
    "-(-2147483648)",
    "3 & 5",
    "3 | 4.0",
    "True + True",
    "True & False",
    "not 3",
    "not 0.0",
    "1 < 2",
    "1 == 1.0",
    "3 and 5",
    "0 or 7",
    "1 if 2 > 1 else 0.5",
    "min(3, 4)",
    "max(3, 4.5)",
    "int(3.7)",
    "float(3)",
    "len([1, 2, 3])",
    "1e-40",
    "1e-46",
    "3.5e38",
    "1e300 * 10",
    "0.1 + 0.2",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "-2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "True",
    "0.0",
    "-0.0",
    "float('inf')",
    "float('-inf')",
    "float('nan')",
    "1_000_000",
    "0x7fffffff",
    "0xffffffff",
    "1e3",
    "'text'",
    "None",
    "(1, 2)[1]",
    "[3, 4][0] + 1",
    "gives_literal()",
    "gives_float()",
    "gives_literal() + 1",
    "gives_float() * 2",
    "tl.cdiv(7, 2)",
    "tl.cdiv(-7, 2)",
    "triton.cdiv(7, 2)",
    "triton.next_power_of_2(100)",
    "tl.maximum(3, 4)",
    "tl.minimum(3, 4.5)",
    "tl.where(True, 1, 2.0)",
    "tl.where(True, 1, 2)",
    "tl.cast(3, tl.float16)",
    "tl.cast(3.7, tl.int32)",
    "tl.cast(-1, tl.uint8)",
    "tl.abs(-3)",
    "tl.abs(-3.5)",
    "tl.exp(1.0)",
    "tl.exp(1)",
    "tl.sqrt(2.0)",
    "tl.fdiv(1.0, 3.0)",
    "tl.umulhi(2147483647, 2147483647)",
    "tl.full((), 3, tl.int8)",
    "tl.full([], 3.5, tl.float32)",
    "tl.zeros((), tl.int16)",
    "tl.zeros([], tl.float64)",
    "tl.arange(0, 8)",
    "tl.arange(8, 16)",
    "tl.arange(0, 3)",
    "tl.program_id(0)",
    "tl.num_programs(1)",
    "tl.program_id(0) + 1.5",
    "tl.program_id(0).to(tl.int64) + 1",
    "tl.join(1, 2)",
    "tl.join(1.0, 2)",
    "tl.fma(1.0, 2.0, 3.0)",
    "tl.fma(1, 2, 3)",
    "tl.clamp(1.0, 2.0, 3.0)",
    "tl.clamp(5, 2.0, 3.0)",
    "tl.add(1, 2)",
    "tl.sub(1, 2.5)",
    "tl.mul(2, 3)",
    "tl.randint(0, 1)",
    "tl.rand(0, 1)",
    "tl.randn(2, 3)",
    "tl.sum(tl.arange(0, 8), 0)",
    "tl.floor(2.5)",
    "tl.ceil(-2.5)",
    "tl.div_rn(1.0, 3.0)",
    "tl.sqrt_rn(2.0)",
    "tl.multiple_of(tl.program_id(0) * 8, 8)",
    "tl.expand_dims(1.0, 0)",
    "tl.broadcast_to(1.0, [4])",
    "tl.float32(3)",
    "tl.int8(300)",
    "tl.int64(5)",
    "tl.float16(0.1)",
    "tl.int1(2)",
)


def folded() -> Iterator[Case]:
    a = (array("a", "int32"),)
    for i, text in enumerate(FOLDED):
        yield Case(f"folded/{i}/{text}", a, f"c = {text}\nput(c)")
        yield Case(
            f"folded.constexpr/{i}/{text}",
            a,
            f"c: tl.constexpr = {text}\nd = c\nput(d)",
        )
        yield Case(f"folded.put/{i}/{text}", a, f"put(tl.load(a + I) + ({text}))")


def make() -> Iterator[Case]:
    yield from beside_tiles()
    yield from launched()
    yield from folded()
