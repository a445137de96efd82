"""Chains of small products: what one gave is the next one's operand, of tf32 as it lies."""

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def powers_kernel(x_ptr, y_ptr, N: tl.constexpr, STEPS: tl.constexpr):
    r = tl.arange(0, N)
    at = r[:, None] * N + r[None, :]
    x = tl.load(x_ptr + at)
    y = x
    for _ in tl.static_range(STEPS):
        x = tl.dot(x, x)
        y = tl.dot(y, x)
    tl.store(y_ptr + at, tl.dot(y, tl.trans(x)))


def signed_permutation(n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    x = np.zeros((n, n), np.float32)
    x[np.arange(n), rng.permutation(n)] = rng.choice([-1, 1], n)
    return x


# 64 rows by 4 warps have many sums of 32 words, a few of which live at one time: wgmma. The
# others are mma.sync: left operands that stay or move between warps, and one warp.
@pytest.mark.parametrize(
    "n, warps, level",
    [
        (64, 4, 2),
        (64, 8, 2),
        (64, 2, 1),
        (32, 4, 1),
        (32, 2, 1),
        (32, 1, 1),
        (16, 1, 1),
    ],
)
def test_powers(n: int, warps: int, level: int) -> None:
    """Sums of one 1 or -1: every wrong place shows, and nothing is rounded."""
    x, y, steps = signed_permutation(n), np.zeros((n, n), np.float32), 6
    options = {"N": n, "STEPS": steps, "num_warps": warps}
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_90a"
        compiled = powers_kernel[(1,)](x, y, **options)
    want = np.linalg.matrix_power(x, 2 ** (steps + 1) - 1)
    want = want @ np.linalg.matrix_power(x, 2**steps).T
    assert np.array_equal(y, want)
    assert f"level {level}" in compiled.report


def test_moves_are_rounded() -> None:
    """Four warps have each right operand four times: it is rounded before it moves."""
    signature = ["*fp32:16", "*fp32:16"]
    c = powers_kernel.compile(
        *signature, target="cuda:sm_80", N=32, STEPS=2, num_warps=2
    )
    products = 5
    left = right = 32 * 32 // 64  # words of a thread of two warps
    half_added = c.asm["ptx"].count("0f3A000000")  # of the last place, to round
    assert 0 < half_added <= products * (left + right)


@tegula.jit
def series_kernel(
    x_ptr, y_ptr, N: tl.constexpr, STEPS: tl.constexpr, P: tl.constexpr = "tf32"
):
    r = tl.arange(0, N)
    at = r[:, None] * N + r[None, :]
    x = tl.load(x_ptr + at)
    t = x
    s = x
    for _ in range(STEPS):
        t = tl.dot(t, x, input_precision=P)
        s += t
    tl.store(y_ptr + at, tl.dot(s, s, input_precision=P))


@pytest.mark.parametrize("warps", [1, 2, 4])
@pytest.mark.parametrize("precision", ["tf32", "tf32x3", "ieee"])
def test_a_loop_hands_on_sums(precision: str, warps: int) -> None:
    n, steps = 32, 3
    x, y = signed_permutation(n), np.zeros((n, n), np.float32)
    options = {"N": n, "STEPS": steps, "P": precision, "num_warps": warps}
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_90a"
        series_kernel[(1,)](x, y, **options)
    s = sum(np.linalg.matrix_power(x, i) for i in range(1, steps + 2))
    assert np.array_equal(y, s @ s)


def test_nothing_moves_inside_of_the_loop() -> None:
    """The sum stays as the left operand, and what is added to it lies as it does."""
    options = {"N": 32, "STEPS": 8, "num_warps": 2}
    c = series_kernel.compile("*fp32:16", "*fp32:16", target="cuda:sm_80", **options)
    loop = c.asm["simt"].split(" = for ")[1].split("yield")[0]
    assert loop.count("dot ") == 1 and "convert_layout" not in loop


def test_pairs_of_words_are_loaded() -> None:
    """A right operand's words of one instruction come side by side."""
    options = {"N": 64, "STEPS": 1, "num_warps": 2}
    c = powers_kernel.compile("*fp32:16", "*fp32:16", target="cuda:sm_80", **options)
    moved = [o for o in c.asm["simt"].splitlines() if "dot %" in o]
    assert len(moved) == 3
    assert (
        c.asm["ptx"].count("ld.shared.v2.b32") == 64 * 64 // 32 // 2
    )  # of the second one


def test_three_terms_are_summed_in_f32() -> None:
    """Each 16 elements along k join every accumulator by an addition."""
    options = {"N": 32, "STEPS": 1, "P": "tf32x3", "num_warps": 1}
    c = series_kernel.compile("*fp32:16", "*fp32:16", target="cuda:sm_80", **options)
    sums, halves, products = 32 * 32 // 32, 2, 2
    assert c.asm["ptx"].count("abs.f32") == products * halves * sums  # is it finite?


@tegula.jit
def inverse_kernel(x_ptr, y_ptr, N: tl.constexpr, TURNS: tl.constexpr):
    r = tl.arange(0, N)
    at = r[:, None] * N + r[None, :]
    x = tl.load(x_ptr + at)
    one = tl.where(r[:, None] == r[None, :], 1.0, 0.0)
    y = one + x
    for _ in tl.static_range(TURNS):
        x = tl.dot(x, x, input_precision="tf32")
        y = tl.dot(y, one + x, input_precision="tf32")
    tl.store(y_ptr + at, y)


@pytest.mark.parametrize("n, warps", [(16, 1), (32, 1), (32, 2), (32, 4)])
def test_inverse(n: int, warps: int) -> None:
    x, y, turns = signed_permutation(n), np.zeros((n, n), np.float32), 3
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_90a"
        inverse_kernel[(1,)](x, y, N=n, TURNS=turns, num_warps=warps)
    want = sum(np.linalg.matrix_power(x, i) for i in range(2 ** (turns + 1)))
    assert np.array_equal(y, want)


def test_what_is_added_to_moves_for_both_products() -> None:
    """1 + x is computed of x where the other product's x has gone."""
    options = {"N": 32, "TURNS": 3, "num_warps": 2}
    c = inverse_kernel.compile("*fp32:16", "*fp32:16", target="cuda:sm_80", **options)
    simt = c.asm["simt"]
    behind = simt[simt.index("dot %") :]
    right = [o for o in behind.splitlines() if "convert_layout" in o]
    assert len(right) == options["TURNS"] + 1


@tegula.jit
def two_products_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    k = tl.load(k_ptr + n[None, :] * D + d[:, None])
    v = tl.load(v_ptr + n[:, None] * D + d[None, :])
    s = tl.dot(q, k).to(tl.float16)
    tl.store(o_ptr + m[:, None] * D + d[None, :], tl.dot(s, v))


TWO = {"M": 16, "N": 64, "D": 128}


@pytest.mark.parametrize("target", ["emu:sm_80", "emu:sm_90a"])
@pytest.mark.parametrize("warps, n", [(1, 16), (2, 64), (4, 32), (8, 64), (8, 128)])
def test_two_products(target: str, warps: int, n: int) -> None:
    """Whole numbers, so that no order of a sum rounds another way."""
    rng = np.random.default_rng(n + warps)
    q, k, v = (
        rng.integers(-2, 3, shape).astype(np.float16)
        for shape in ((16, 128), (n, 128), (n, 128))
    )
    out = np.full((16, 128), np.nan, np.float32)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = target
        two_products_kernel[(1,)](q, k, v, out, **TWO | {"N": n}, num_warps=warps)
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    assert np.array_equal(out, q @ k.T @ v)


def compiled_two(target: str, warps: int, **sides: int) -> str:
    c = two_products_kernel.compile(
        *["*fp16:16"] * 3, "*fp32:16", **TWO | sides, target=target, num_warps=warps
    )
    return c.asm["ptx"]


def test_fragments_go_by_matrices() -> None:
    """Two warps have every second tile of eight columns, and each wants all of a row."""
    ptx = compiled_two("cuda:sm_90a", 2)
    between = ptx[ptx.index("mma.sync") : ptx.rindex("mma.sync")]
    assert between.count("stmatrix") == 2 and "st.shared" not in between
    assert "ld.shared" not in between
