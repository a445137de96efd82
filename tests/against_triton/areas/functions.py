"""tl.math, libdevice and the generators of random numbers."""

from __future__ import annotations

from collections.abc import Iterator

from case import ALL, Case, Scalar, array

MATH = (
    "exp",
    "exp2",
    "log",
    "log2",
    "sin",
    "cos",
    "sqrt",
    "sqrt_rn",
    "rsqrt",
    "erf",
    "floor",
    "ceil",
    "abs",
)
# Those whose instructions are the same for everybody: equal bits. The others are a
# library's, ours is another one: within so many last places.
EXACT = {"exp", "exp2", "sqrt", "sqrt_rn", "rsqrt", "floor", "ceil", "abs"}

ONE = """floor ceil trunc rint nearbyint round sqrt rsqrt sqrt_rn sqrt_rz sqrt_rd sqrt_ru rcp_rn
rcp_rz rcp_rd rcp_ru abs logb exp2 exp exp10 expm1 log log2 log10 log1p sin cos tan sinpi cospi
sinh cosh tanh asin acos atan asinh acosh atanh cbrt rcbrt erf erfc erfcx erfinv erfcinv normcdf
normcdfinv lgamma tgamma j0 j1 y0 y1 cyl_bessel_i0 cyl_bessel_i1 isnan isinf finitef isfinited
signbit ilogb llrint llround saturatef rsqrt_rn fast_sinf fast_cosf fast_log2f fast_logf
fast_expf fast_tanf fast_exp10f fast_log10f fast_tanhf clz popc ffs brev rcp64h
float2int_rn float2int_rz float2int_rd float2int_ru float2uint_rn float2uint_rz float2uint_rd
float2uint_ru float2ll_rn float2ll_rz float2ll_rd float2ll_ru float2ull_rn float2ull_rz
float2ull_rd float2ull_ru double2int_rn double2int_rz double2int_rd double2int_ru double2uint_rn
double2uint_rz double2uint_rd double2uint_ru double2ll_rn double2ll_rz double2ll_rd double2ll_ru
double2ull_rn double2ull_rz double2ull_rd double2ull_ru int2float_rn int2float_rz int2float_rd
int2float_ru uint2float_rn uint2float_rz uint2float_rd uint2float_ru ll2float_rn ll2float_rz
ll2float_rd ll2float_ru ull2float_rn ull2float_rz ull2float_rd ull2float_ru ll2double_rn
ll2double_rz ll2double_rd ll2double_ru ull2double_rn ull2double_rz ull2double_rd ull2double_ru
int2double_rn uint2double_rn double2float_rn double2float_rz double2float_rd double2float_ru
double2loint double2hiint float_as_int float_as_uint int_as_float uint_as_float
double_as_longlong longlong_as_double""".split()
TWO = """add_rn add_rz add_rd add_ru sub_rn sub_rz sub_rd sub_ru mul_rn mul_rz mul_rd mul_ru div_rn
div_rz div_rd div_ru copysign nextafter atan2 hypot rhypot fmod remainder fdim pow ldexp scalbn
jn yn mulhi mul24 hadd rhadd fast_dividef fast_powf hiloint2double""".split()
THREE = """fma fma_rn fma_rz fma_rd fma_ru norm3d rnorm3d byte_perm sad""".split()
# Exact by definition, or by an instruction of the same name.
SAME = """floor ceil trunc rint nearbyint round sqrt rsqrt sqrt_rn sqrt_rz sqrt_rd sqrt_ru rcp_rn
rcp_rz rcp_rd rcp_ru abs logb isnan isinf finitef isfinited signbit ilogb llrint llround saturatef
clz popc ffs brev add_rn add_rz add_rd add_ru sub_rn sub_rz sub_rd sub_ru mul_rn mul_rz mul_rd
mul_ru div_rn div_rz div_rd div_ru copysign nextafter fmod remainder fdim ldexp scalbn mulhi mul24
hadd rhadd hiloint2double fma fma_rn fma_rz fma_rd fma_ru byte_perm sad rcp64h""".split()


def last_places(name: str) -> int:
    if name in SAME or (
        "2" in name and name.endswith(("_rn", "_rz", "_rd", "_ru", "int"))
    ):
        return 0
    if "_as_" in name:
        return 0
    return (
        4096 if name.startswith(("fast_", "j", "y", "lgamma", "tgamma", "cyl")) else 32
    )


def math() -> Iterator[Case]:
    for t in ALL:
        for name in MATH:
            for kind in ("normal", "positive"):
                a = (array("a", t, kind),)
                ulp = 0 if name in EXACT and t != "float64" else 4
                for how, text in (("tl", f"tl.{name}(x)"), ("method", f"x.{name}()")):
                    body = f"x = tl.load(a + I)\nput({text})"
                    yield Case(f"math.{how}.{kind}/{name}/{t}", a, body, ulp=ulp)
            body = f"x = tl.load(a + 3)\nput(tl.math.{name}(x))"
            yield Case(f"math.scalar/{name}/{t}", a, body, ulp=ulp)


def libdevice() -> Iterator[Case]:
    x, y, z = (f"{v} = tl.load({p} + I)" for v, p in zip("xyz", "abc", strict=True))
    for name in ONE:
        for t in (
            "float32",
            "float64",
            "int32",
            "uint32",
            "int64",
            "uint64",
            "float16",
            "bfloat16",
            "int8",
        ):
            for kind in ("normal", "unit") if t[:5] == "float" else ("all",):
                a = (array("a", t, kind),)
                body = f"{x}\nput(libdevice.{name}(x))"
                yield Case(
                    f"libdevice.{kind}/{name}/{t}", a, body, ulp=last_places(name)
                )
    for name in TWO:
        for s, t in (
            ("float32", "float32"),
            ("float64", "float64"),
            ("int32", "int32"),
            ("uint32", "uint32"),
            ("int64", "int64"),
            ("uint64", "uint64"),
            ("float32", "int32"),
            ("float64", "int32"),
            ("int32", "float32"),
            ("int32", "float64"),
            ("float32", "float64"),
            ("float16", "float16"),
        ):
            # Triton's is linked to take subnormal float32 for 0.
            args = (
                array("a", s, "edge", arg="normal"),
                array("b", t, "cross", arg="normal"),
            )
            if t == "int32" and s[0] == "f":
                args = (args[0], array("b", t, "shift", arg=20))
            body = f"{x}\n{y}\nput(libdevice.{name}(x, y))"
            yield Case(f"libdevice/{name}/{s}.{t}", args, body, ulp=last_places(name))
    for name in THREE:
        for t in ("float32", "float64", "int32", "uint32"):
            args = (
                array("a", t, arg="normal"),
                array("b", t, "cross", arg="normal"),
                array("c", t, "normal"),
            )
            body = f"{x}\n{y}\n{z}\nput(libdevice.{name}(x, y, z))"
            yield Case(f"libdevice/{name}/{t}", args, body, ulp=last_places(name))
            if name in ("sad",):
                args = (args[0], args[1], array("c", "uint32", "all"))
                yield Case(f"libdevice/{name}/{t}.uint32", args, body, ulp=0)
    for name, v in (
        ("exp", "1.0"),
        ("pow", "2.0, 3"),
        ("pow", "2.0, 0.5"),
        ("floor", "2.5"),
        ("exp", "1"),
    ):
        yield Case(
            f"libdevice.literal/{name}/{v}", (), f"put(libdevice.{name}({v}))", ulp=32
        )


def random() -> Iterator[Case]:
    calls = {
        "rand": "tl.rand({seed}, {at})",
        "randn": "tl.randn({seed}, {at})",
        "randint": "tl.randint({seed}, {at})",
        "rand.7": "tl.rand({seed}, {at}, 7)",
        "randint.named": "tl.randint({seed}, {at}, n_rounds=3)",
    }
    four = ("randint4x", "rand4x", "randn4x")
    offsets = {
        "int32": "I",
        "int64": "I.to(tl.int64) * 4294967311",
        "uint32": "I.to(tl.uint32) * 77777777",
        "uint64": "I.to(tl.uint64) * 4294967311",
        "negative": "I - 128",
        "int8": "I.to(tl.int8)",
        "int16": "I.to(tl.int16) * 100",
        "scalar": "7",
        "block": "tl.reshape(I, [16, 16])",
        "float": "I.to(tl.float32)",
    }
    for seed in (
        "0",
        "42",
        "-1",
        "2147483648",
        "4294967296",
        "1311768467463790320",
        "s",
    ):
        for kind, at in offsets.items():
            args = (array("a", "int32"), Scalar("s", 12345678901))
            for name, call in calls.items():
                text = call.format(seed=seed, at=at)
                ulp = 4096 if "randn" in name else 0
                yield Case(
                    f"random/{name}/{seed}.{kind}", args, f"put({text})", ulp=ulp
                )
            for name in four:
                body = f"p, q, r, s2 = tl.{name}({seed}, {at})\nput(p)\nput(q)\nput(r)\nput(s2)"
                ulp = 4096 if "randn" in name else 0
                yield Case(f"random/{name}/{seed}.{kind}", args, body, ulp=ulp)
    for t in ALL:
        x = (array("a", t, "all"),)
        for name, text in {
            "uniform": "tl.random.uint_to_uniform_float(x)",
            "seed": "tl.rand(tl.load(a + 5), I)",
            "offset": "tl.randint(3, x)",
        }.items():
            yield Case(
                f"random.types/{name}/{t}", x, f"x = tl.load(a + I)\nput({text})"
            )
        body = "x = tl.load(a + I)\np, q, r, u = tl.philox(7, x, x, x, x)\nput(p)\nput(q)\nput(r)\nput(u)"
        yield Case(f"random.types/philox/{t}", x, body)
        body = body.replace("philox(7, x, x, x, x)", "philox(x, x, 0, 0, 0)")
        yield Case(f"random.types/philox.seed/{t}", x, body)
    u = (array("a", "float32", "unit"), array("b", "float32", "unit", arg=1))
    body = "p, q = tl.random.pair_uniform_to_normal(tl.load(a + I), tl.load(b + I))\nput(p)\nput(q)"
    yield Case("random.types/normal/float32", u, body, ulp=64)


def make() -> Iterator[Case]:
    yield from math()
    yield from libdevice()
    yield from random()
