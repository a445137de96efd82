"""Blocks whose sides are no powers of two: what padding must not do, and what no other
table of shapes here reaches. The tables of the other files have such shapes as well."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from element_types import encode
from suite import ALL, Arg, Machine, index, numbers, result, same_bits

import tegula
import tegula.language as tl

SHAPES = [
    (3,),
    (24,),
    (100,),
    (1000,),
    (48, 80),
    (1, 7),
    (5, 1),
    (3, 5, 7),
    (2, 3, 2, 5),
]
SOME = ("float32", "float16", "int32", "int8")
GUARD = 64


def label(value: Any) -> str | None:
    return "x".join(map(str, value)) if isinstance(value, tuple) else None


# --- memory ---------------------------------------------------------------------------
# The end of the block is the end of memory: the emulator and the interpreter refuse a read
# behind it, and what is written there shows.
FORMS = {
    "plain": ("tl.load(x0 + i)", lambda a, n: a),
    "masked": ("tl.load(x0 + i, mask=i % 3 != 1)", lambda a, n: np.where(n % 3 != 1, a, 0 * a)),
    "other": ("tl.load(x0 + i, mask=i % 3 != 1, other=1)", lambda a, n: np.where(n % 3 != 1, a, 0 * a + 1)),
    "backwards": ("tl.load(x0 + (N - 1 - i))", lambda a, n: a[::-1]),
    "scalar mask": ("tl.load(x0 + i, mask=tl.program_id(0) == 0)", lambda a, n: a),
    "stored where": ("tl.load(x0 + i)", lambda a, n: a),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", SOME)
@pytest.mark.parametrize("shape", SHAPES, ids=label)
def test_memory(
    machine: Machine, rng: Any, form: str, dtype: str, shape: tuple
) -> None:
    n = int(np.prod(shape))
    x = encode(rng.integers(1, 9, n), dtype)
    text, want = FORMS[form]
    mask = ", mask=i >= 2" if form == "stored where" else ""
    body = f"i = {index(shape)}\ntl.store(x1 + i, {text}{mask})"
    out = result(dtype, n + GUARD)
    got = machine.run(body, Arg(x, dtype), out, N=n)[1]
    value = want(x, np.arange(n)).astype(x.dtype)
    if mask:
        value[:2] = out.data[:2]
    same_bits(got[:n], value, dtype)
    same_bits(got[n:], out.data[n:], dtype)


@pytest.mark.parametrize("dtype", ALL)
def test_every_type(machine: Machine, rng: Any, dtype: str) -> None:
    x = numbers(rng, dtype, 100)
    body = "i = tl.arange(0, 100)\ntl.store(x1 + i, tl.load(x0 + i))"
    out = result(dtype, 100 + GUARD)
    got = machine.run(body, Arg(x, dtype), out)[1]
    same_bits(got[:100], x, dtype)
    same_bits(got[100:], out.data[100:], dtype)


@pytest.mark.parametrize("n", (3, 24, 100))
@pytest.mark.parametrize("op", ("add", "max", "xchg", "cas"))
@pytest.mark.parametrize("masked", (False, True))
def test_atomics(machine: Machine, n: int, op: str, masked: bool) -> None:
    """Each element once, and none for padding: it would hit the same place."""
    if op == "cas":
        if masked:
            pytest.skip("atomic_cas has no mask")
        text = "tl.atomic_cas(x0 + i, i * 0 + 5, i + 1)"
    else:
        more = ", mask=i % 2 == 0" if masked else ""
        text = f"tl.atomic_{op}(x0 + i, i + 1{more})"
    body = f"""
i = tl.arange(0, {n})
old = {text}
tl.store(x1 + i, old, mask={"i % 2 == 0" if masked else "i >= 0"})
tl.atomic_add(x2 + i * 0, 1)
tl.atomic_add(x2 + 1 + tl.zeros(({n},), tl.int32), i{", mask=i % 2 == 0" if masked else ""})
"""
    memory = Arg(np.full(n + GUARD, 5, np.int32), "int32")
    got = machine.run(
        body, memory, result("int32", n + GUARD), Arg(np.zeros(2, np.int32), "int32")
    )
    i = np.arange(n)
    on = i % 2 == 0 if masked else i >= 0
    new = {"add": 6 + i, "max": np.maximum(5, i + 1)}.get(op, i + 1)
    np.testing.assert_array_equal(got[0][:n], np.where(on, new, 5))
    np.testing.assert_array_equal(got[0][n:], 5)
    np.testing.assert_array_equal(got[1][:n][on], 5)
    np.testing.assert_array_equal(got[2], [n, i[on].sum()])


# --- traps ----------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ("int32", "int64", "uint8", "int16"))
@pytest.mark.parametrize("n", (3, 5, 100))
def test_division(machine: Machine, dtype: str, n: int) -> None:
    """The divisor of what would be element n is 0."""
    body = f"""
i = tl.arange(0, {n}).to(tl.{dtype})
d = ({n} - i).to(tl.{dtype})
tl.store(x0 + i, 77 // d)
tl.store(x1 + i, 77 % d)
tl.store(x2, tl.sum((77 // d).to(tl.int32)))
tl.store(x2 + 1, tl.reduce(d.to(tl.int32), 0, quotients))
"""
    got = machine.run(
        body,
        result(dtype, n),
        result(dtype, n),
        Arg(np.zeros(2, np.int32), "int32"),
        helpers=(quotients,),
    )
    d = n - np.arange(n)
    np.testing.assert_array_equal(got[0], 77 // d)
    np.testing.assert_array_equal(got[1], 77 % d)
    assert got[2].tolist() == [(77 // d).sum(), d.max()]


@tegula.jit
def quotients(a, b):
    """The larger; with a quotient on the way."""
    return tl.where(a // b > 0, tl.maximum(a, b), b)


@tegula.jit
def last(a, b):
    return b


@tegula.jit
def farther(a, b):
    """From 40; nothing is neutral, and 40 least of all."""
    return tl.where(tl.abs(a - 40) > tl.abs(b - 40), a, b)


@pytest.mark.parametrize("n", (3, 24, 100))
def test_order(machine: Machine, n: int) -> None:
    """Combine functions of no known kind; a scan may even look at one side alone."""
    body = f"""
i = tl.arange(0, {n})
tl.store(x0, tl.reduce(i + 41, 0, farther))
tl.store(x1 + i, tl.associative_scan(i, 0, last, reverse=True))
m = tl.arange(0, 3)[:, None] * {n} + i[None, :] + 41
tl.store(x0 + 1, tl.reduce(m, None, farther))
"""
    helpers = (last, farther)
    got = machine.run(body, result("int32", 2), result("int32", n), helpers=helpers)
    assert got[0].tolist() == [n + 40, 3 * n + 40]
    np.testing.assert_array_equal(got[1], np.arange(n))


@pytest.mark.parametrize("value", (np.nan, -np.inf, np.inf))
@pytest.mark.parametrize("n", (3, 24, 100))
def test_nothing_is_neutral(machine: Machine, value: float, n: int) -> None:
    """Of such elements alone: padding is not the best of them, nor among them."""
    x = np.full(n, value, np.float32)
    body = f"""
x = tl.load(x0 + tl.arange(0, {n}))
tl.store(x1, tl.max(x, 0))
tl.store(x1 + 1, tl.min(x, 0))
tl.store(x1 + 2, tl.sum(x * 0.0 if False else x - x, 0))
tl.store(x2, tl.argmax(x, 0))
tl.store(x2 + 1, tl.argmin(x, 0))
tl.store(x2 + 2, tl.argmax(x, 0, tie_break_left=False))
s = tl.sort(x)
tl.store(x1 + 3, tl.max(s, 0))
tl.store(x1 + 4, tl.sum(tl.where(s == s, 1.0, 0.0), 0))
"""
    got = machine.run(body, Arg(x, "float32"), result("float32", 5), result("int32", 3))
    want = [value, value, np.nan, value, 0 if np.isnan(value) else n]
    np.testing.assert_array_equal(got[1], np.float32(want))
    assert ((got[2] >= 0) & (got[2] < n)).all()
    if not np.isnan(value):
        assert got[2][:2].tolist() == [0, 0]


def test_minus_zero(machine: Machine) -> None:
    """A sum of -0.0 is -0.0, as it is without padding."""
    x = np.full(5, -0.0, np.float32)
    body = "tl.store(x1, tl.sum(tl.load(x0 + tl.arange(0, 5)), 0))"
    got = machine.run(body, Arg(x, "float32"), result("float32", 1))[1]
    assert np.signbit(got[0])


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64"))
@pytest.mark.parametrize("n", (5, 16, 24))
def test_sort_keeps_its_elements(
    machine: Machine, rng: Any, dtype: str, n: int
) -> None:
    """NaN and infinities among them, none is lost; NaN come last."""
    x = rng.standard_normal(n).astype(dtype)
    x[[0, 3]] = np.nan, np.inf
    body = f"""
i = tl.arange(0, {n})
tl.store(x1 + i, tl.sort(tl.load(x0 + i)))
tl.store(x2 + i, tl.sort(tl.load(x0 + i), descending=True))
"""
    got = machine.run(body, Arg(x, dtype), result(dtype, n), result(dtype, n))
    np.testing.assert_array_equal(got[1], np.sort(x))
    np.testing.assert_array_equal(np.sort(got[2]), np.sort(x))


# --- debugging ------------------------------------------------------------------------
def printed(capfd: Any, machine: Machine) -> list[str]:
    if machine.name == "cuda":
        from suite import torch_cuda

        torch_cuda().cuda.synchronize()
    return sorted(set(capfd.readouterr().out.splitlines()))


def test_print(machine: Machine, capfd: Any) -> None:
    """The elements and no other; places as wide as the true sides need."""
    body = """
i = tl.arange(0, 3)[:, None] * 10 + tl.arange(0, 10)[None, :]
tl.device_print("a", i, tl.arange(0, 5))
tl.device_print("b", tl.arange(0, 3))
"""
    machine.run(body, Arg(np.zeros(1, np.int32), "int32"))
    got = printed(capfd, machine)
    want = [
        f"pid (0, 0, 0) idx ({r}, {c}) a: (operand 0) {10 * r + c}"
        for r in range(3)
        for c in range(10)
    ]
    want += [f"pid (0, 0, 0) idx ({k}) a: (operand 1) {k}" for k in range(5)]
    want += [f"pid (0, 0, 0) idx ({k}) b: {k}" for k in range(3)]
    assert got == sorted(want)


def test_assert(machine: Machine) -> None:
    """Padding fails no assertion, an element does."""
    if machine.name == "cuda":
        pytest.skip("a trap ends the context of every later test")
    body = "x = tl.arange(0, 100)\ntl.device_assert(x < LIMIT, 'too large')"
    x = Arg(np.zeros(1, np.int32), "int32")
    machine.run(body, x, options={"debug": True}, LIMIT=100)
    with pytest.raises(Exception, match="too large") as e:
        machine.run(body, x, options={"debug": True}, LIMIT=99)
    if machine.name in ("cpu", "interpreter"):
        assert re.search(r"element 99$", str(e.value).splitlines()[0]), e.value


# --- more of the language -------------------------------------------------------------
@tegula.jit
def bounded(x, y):
    if x > y:
        return x - y
    else:
        return y * 2


@pytest.mark.parametrize("shape", SHAPES[:6], ids=label)
def test_map(machine: Machine, rng: Any, shape: tuple) -> None:
    x, y = rng.integers(-9, 9, (2, *shape)).astype(np.int32)
    body = f"""
i = {index(shape)}
z = tl.map_elementwise(bounded, tl.load(x0 + i), tl.load(x1 + i))
tl.static_assert(z.shape == {shape})
tl.static_assert(z.numel == {int(np.prod(shape))})
tl.store(x2 + i, z)
"""
    args = Arg(x, "int32"), Arg(y, "int32"), result("int32", shape)
    got = machine.run(body, *args, helpers=(bounded,))[2]
    np.testing.assert_array_equal(got, np.where(x > y, x - y, y * 2))


@pytest.mark.parametrize("n", (6, 96))
def test_map_packed(machine: Machine, n: int) -> None:
    body = f"""
i = tl.arange(0, {n})
tl.store(x0 + i, tl.map_elementwise(pairs, i, pack=2))
"""
    got = machine.run(body, result("int32", n), helpers=(pairs,))[0]
    i = np.arange(n).reshape(-1, 2)
    want = np.stack([i[:, 0] + i[:, 1], i[:, 0] - i[:, 1]], 1).ravel()
    np.testing.assert_array_equal(got, want)


@tegula.jit
def pairs(a, b):
    return a + b, a - b


@pytest.mark.parametrize("n", (3, 100))
def test_random_numbers(machine: Machine, n: int) -> None:
    """The same numbers as those of a block of a power of two."""
    body = f"""
i = tl.arange(0, {n})
tl.store(x0 + i, tl.rand(7, i))
tl.store(x1 + i, tl.randint(7, i))
j = tl.arange(0, 128)
tl.store(x2 + j, tl.rand(7, j))
tl.store(x3 + j, tl.randint(7, j))
"""
    got = machine.run(
        body,
        result("float32", n),
        result("int32", n),
        result("float32", 128),
        result("int32", 128),
    )
    np.testing.assert_array_equal(got[0], got[2][:n])
    np.testing.assert_array_equal(got[1], got[3][:n])


@pytest.mark.parametrize("r,c", [(3, 5), (24, 40), (1, 7)])
def test_softmax(machine: Machine, rng: Any, r: int, c: int) -> None:
    """A library function of several steps, along both dims."""
    x = rng.standard_normal((r, c)).astype(np.float32)
    body = f"""
i = {index((r, c))}
x = tl.load(x0 + i)
tl.store(x1 + i, tl.softmax(x, 0))
tl.store(x2 + i, tl.softmax(x, 1))
"""
    args = Arg(x, "float32"), result("float32", (r, c)), result("float32", (r, c))
    got = machine.run(body, *args)
    for axis in (0, 1):
        e = np.exp(x - x.max(axis, keepdims=True))
        want = e / e.sum(axis, keepdims=True)
        np.testing.assert_allclose(got[1 + axis], want, rtol=2e-5)


@pytest.mark.parametrize("shape", [(3, 4), (24, 5)], ids=label)
def test_elements_and_carried_blocks(machine: Machine, shape: tuple) -> None:
    """Picked rows carried by a while; an if whose branches give blocks."""
    r, c = shape
    x = np.arange(r * c, dtype=np.int32).reshape(shape)
    body = f"""
x = tl.load(x0 + {index(shape)})
row = x[0]
k = 0
while k < {r} - 1:
    k += 1
    row += x[k]
if tl.load(x0) == 0:
    col = x[:, {c - 1}]
else:
    col = x[:, 0]
tl.store(x1 + tl.arange(0, {c}), row)
tl.store(x2 + tl.arange(0, {r}), col)
tl.store(x3, x[{r - 1}, {c - 1}])
"""
    out = [result("int32", n) for n in (c, r, 1)]
    got = machine.run(body, Arg(x, "int32"), *out)
    np.testing.assert_array_equal(got[1], x.sum(0))
    np.testing.assert_array_equal(got[2], x[:, -1])
    assert got[3][0] == x[-1, -1]


@pytest.mark.parametrize("pack,text", [(1, "add.u32 $0, $1, 7;"), (2, None)])
def test_assembly(pack: int, text: str | None) -> None:
    """Pure assembly only computes: what it makes of padding is nobody's business."""

    @tegula.jit
    def kernel(x, PACK: tl.constexpr):
        i = tl.arange(0, 100)
        y = tl.inline_asm_elementwise(
            "add.u32 $0, $1, 7;", "=r,r", [tl.load(x + i)], tl.int32, True, 1
        )
        tl.store(x + i, y)

    ptx = kernel.compile("*i32:16", PACK=pack, target="cuda:sm_80").asm["ptx"]
    assert "7;" in ptx
