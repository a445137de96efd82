"""Stores of products through plain pointers: by tensor maps where the products' operands
come by them, with the very result that the pointers give, and left alone where that cannot
be said."""

from __future__ import annotations

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"
B = 64


@tegula.jit
def product(
    a_ptr, b_ptr, c_ptr, M, N, K, scm, scn, scz,
    B: tl.constexpr, FORM: tl.constexpr,
):  # fmt: skip
    pm, pn, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    m, n, k = pm * B + tl.arange(0, B), pn * B + tl.arange(0, B), tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for i in range(tl.cdiv(K, B)):
        ks = i * B + k
        inside = (m[:, None] < M) & (ks[None, :] < K)
        a = tl.load(a_ptr + m[:, None] * K + ks[None, :], mask=inside, other=0.0)
        inside = (ks[:, None] < K) & (n[None, :] < N)
        b = tl.load(b_ptr + ks[:, None] * N + n[None, :], mask=inside, other=0.0)
        acc = tl.dot(a, b, acc)
    c = (acc + z).to(c_ptr.dtype.element_ty)
    inside = (m[:, None] < M) & (n[None, :] < N)
    if FORM == "above":
        inside = inside & (m[:, None] >= n[None, :])
    if FORM == "shifted":
        m -= 8
        inside = (m[:, None] < M) & (m[:, None] >= 0) & (n[None, :] < N)
    places = c_ptr + z * scz + m[:, None] * scm + n[None, :] * scn
    if FORM == "cached":
        tl.store(places, c, mask=inside, cache_modifier=".cs")
    else:
        tl.store(places, c, mask=inside)
    if FORM == "twice":
        tl.store(places, c + 1, mask=inside & (m[:, None] < 3))


def whole(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16)


def run(M, N, K, form="", turned=False, batch=1, dtype=np.float16, **options):
    """What the kernel stores, and what it ought to; the kernel."""
    a, b = whole(0, M, K), whole(1, K, N)
    once = a.astype(np.float64) @ b.astype(np.float64)
    want = np.stack([once + z for z in range(batch)]).astype(dtype)
    c = simulated.put(np.full(want.swapaxes(1, 2).shape if turned else want.shape,
                              np.nan, dtype), TARGET)  # fmt: skip
    strides = (1, M, M * N) if turned else (N, 1, M * N)
    compiled = product[(tegula.cdiv(M, B), tegula.cdiv(N, B), batch)](
        simulated.put(a, TARGET), simulated.put(b, TARGET), c, M, N, K, *strides,
        B=B, FORM=form, num_warps=4, **options,
    )  # fmt: skip
    got = c.numpy()
    return got.swapaxes(1, 2) if turned else got, want, compiled


def stores_of(compiled) -> int:
    return compiled.asm["tir"].count("map_store ")


@pytest.mark.parametrize("M, N, K", [(128, 128, 128), (200, 136, 72), (8, 8, 200)])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_stored(M, N, K, turned, dtype):
    got, want, compiled = run(M, N, K, turned=turned, dtype=dtype)
    np.testing.assert_array_equal(got, want)
    assert stores_of(compiled) == 1, compiled.report


def test_matrices_behind_each_other():
    got, want, compiled = run(72, 64, 64, batch=3)
    np.testing.assert_array_equal(got, want)
    assert stores_of(compiled) == 1, compiled.report


@pytest.mark.parametrize(
    "form, why",
    [
        ("above", "its mask is no bound of its rows and columns"),
        ("twice", "its tensor is accessed in another way, too"),
        ("cached", "its `cache_modifier` is for stores of each thread"),
    ],
)
def test_left_alone(form, why):
    got, want, compiled = run(128, 128, 64, form)
    if form == "above":
        want = np.where(np.tril(np.ones((128, 128), bool)), want, np.nan)
    if form == "twice":
        want[:, :3] += 1
    np.testing.assert_array_equal(got, want)
    assert stores_of(compiled) == 0
    assert f"none: {why}" in compiled.report


def test_rows_in_front():
    """A block that begins in front of the tensor is stored by the threads."""
    got, want, compiled = run(136, 64, 64, "shifted")
    np.testing.assert_array_equal(got[:, :-8], want[:, 8:])
    np.testing.assert_array_equal(got[:, -8:], 0)  # of rows behind the last of a
    assert stores_of(compiled) == 1, compiled.report


def test_rows_of_odd_length():
    """A row that begins at no multiple of 16 bytes is no tensor map's."""
    got, want, compiled = run(64, 68, 64)
    np.testing.assert_array_equal(got, want)
    assert stores_of(compiled) == 0
