"""What the benchmarks' kernels ask of a GPU, counted by the interpreter of their PTX: the
counts that must not get worse, without tensor maps, whose copies have no lanes. `python
benchmarks/count.py` shows all of them; it checks each kernel's result as well."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from count import TABLE, Count, Device, count

if not simulated.available():
    pytest.skip("no build/libptxsim.so", allow_module_level=True)


@pytest.fixture(scope="module", params=["sm_80", "sm_90a"])
def device(request: pytest.FixtureRequest):
    with tegula.knobs.nvidia.scope(), tegula.knobs.compilation.scope():
        tegula.knobs.nvidia.ptxas = "none"
        tegula.knobs.nvidia.tma = False
        tegula.knobs.compilation.line_info = True
        yield Device(request.param)


@pytest.fixture(scope="module")
def counts(device: Device) -> dict[str, Count]:
    return {name: count(device, name) for name in TABLE}


@pytest.mark.parametrize("name", TABLE)
def test_no_bank_conflicts(counts, name):
    assert not [r for r in counts[name].rows if r["wavefronts"] > r["phases"]]


@pytest.mark.parametrize("name", TABLE)
def test_sectors_are_used_whole(counts, name):
    c = counts[name]
    # Cross entropy picks one element of a row besides.
    assert c.efficiency() >= (0.96 if "entropy" in name else 1)
    if "entropy" not in name:
        assert c.widths("ld.global", "cp.async") == [16]
        # Lanes share the sums of columns: each has two of them.
        assert c.widths("st.global") == [8 if "column" in name else 16]


PIPELINED = [
    n for n in TABLE if ("matmul" in n or "attention" in n) and n.endswith("f16")
]


@pytest.mark.parametrize("name", PIPELINED)
def test_operands_come_by_cp_async_and_ldmatrix(device, counts, name):
    """In the loop: no load but those; one instruction of copies for each 512 bytes. Where
    there is wgmma, it reads shared memory itself."""
    c = counts[name]
    rows = c.loop or c.rows
    assert not [r for r in c.loop if r["class"] in ("ld.global", "st.shared")]
    loads = [r for r in rows if r["class"] == "ld.shared"]
    if c.loop and device.target == "sm_90a":
        assert c.where("wgmma.mma_async", loop=True) and not loads
    elif c.loop:
        assert loads
        assert all(r["op"].startswith("ldmatrix") and ".x4" in r["op"] for r in loads)
    for r in rows:
        if r["class"] == "cp.async":
            assert r["width"] == 16


# Instructions of PTX that a warp issues for an iteration, at most; and of them products.
MOST = {
    "matmul 128x128x64 f16": {"sm_80": (178, 64), "sm_90a": (81, 4)},
    "matmul 256x128x32 f16": {"sm_80": (151, 64), "sm_90a": (69, 4)},
    "matmul 64x64x64 f16": {"sm_80": (128, 32), "sm_90a": (80, 4)},
    "attention D=64 f16": {"sm_80": (699, 128), "sm_90a": (253, 8)},
    # sm_80: an xor for each swizzle, to spare registers
    "attention D=128 f16": {"sm_80": (576, 128), "sm_90a": (324, 12)},
    "rms norm loop bf16": {"sm_80": (163, 0), "sm_90a": (160, 0)},
    "column sum f32": {"sm_80": (34, 0), "sm_90a": (34, 0)},
}


@pytest.mark.parametrize("name", MOST)
def test_iterations_stay_short(device, counts, name):
    most, products = MOST[name][device.target]
    c = counts[name]
    run = c.where("mma.", loop=True) + c.where("wgmma.mma_async", loop=True)
    assert sum(r["run"] for r in run) == products
    assert c.total("run", loop=True) <= most * 1.01 + 1


def test_one_barrier_an_iteration(counts):
    """Three instructions: what a cp.async group ends and waits with, and the barrier. What
    wgmma reads is fenced besides."""
    for name in PIPELINED:
        if counts[name].loop:
            barriers = counts[name].where("bar.sync", loop=True)
            assert sum(r["run"] for r in barriers) == 1
            assert counts[name].total("run", "async", loop=True) == 2


# ---- what lanes exchange through shared memory -----------------------------------------


@tegula.jit
def along_axis(x, y, B: tl.constexpr, C: tl.constexpr, OP: tl.constexpr):
    i = tl.arange(0, B)[:, None] * C + tl.arange(0, C)[None, :]
    v = tl.load(x + i)
    if OP == "sum":
        tl.store(y + tl.arange(0, C), tl.sum(v, 0))
    elif OP == "softmax":
        e = tl.exp(v - tl.max(v, 0)[None, :])
        tl.store(y + i, e / tl.sum(e, 0)[None, :])
    elif OP == "cumsum":
        tl.store(y + i, tl.cumsum(v, 0))
    elif OP == "sort":
        tl.store(y + i, tl.sort(v))
    else:
        tl.store(y + i, tl.trans(tl.reshape(v, (C, B))))


ALONG = {
    "sum": lambda v: v.sum(0),
    "softmax": lambda v: np.exp(v) / np.exp(v).sum(0),
    "cumsum": lambda v: v.cumsum(0),
    "sort": lambda v: np.sort(v, 1),
    "trans": lambda v: v.reshape(v.shape[::-1]).T,
}


@pytest.mark.parametrize(
    "shape", [(64, 64, 4), (128, 32, 8), (16, 256, 4), (64, 16, 16)]
)
@pytest.mark.parametrize("op", ALONG)
def test_exchanges_without_conflicts(device, op, shape):
    b, c, warps = shape
    x, y = device.random(b, c), device.empty(b, c)
    options = {"B": b, "C": c, "OP": op, "num_warps": warps}
    one = device.profile(lambda: along_axis[(1,)](x, y, **options))
    want = ALONG[op](x.numpy().astype(float))
    got = y.numpy().reshape(-1)[: want.size].reshape(want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    counts = Count(op, one["warps"], one["rows"])
    assert counts.conflicts() == 0


@tegula.jit
def product(a, b, c, am, ak, bk, bn, K, BK: tl.constexpr):
    m, n, k = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :], tl.arange(0, BK)
    acc = tl.zeros((64, 64), c.dtype.element_ty)
    for at in range(0, K, BK):
        x = tl.load(a + m * am + (at + k)[None, :] * ak)
        y = tl.load(b + (at + k)[:, None] * bk + n * bn)
        acc = tl.dot(x, y, acc, input_precision="tf32")
    tl.store(c + m * 64 + n, acc)


@pytest.mark.parametrize("a_along_k", [True, False])
@pytest.mark.parametrize("b_along_k", [True, False])
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32])
def test_operands_either_way_round(device, a_along_k, b_along_k, dtype):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-4, 4, s).astype(dtype) for s in ((64, 256), (256, 64)))
    a = simulated.put(x if a_along_k else x.T, device.target)
    b = simulated.put(y.T if b_along_k else y, device.target)
    out = np.int32 if dtype == np.int8 else np.float32
    c = simulated.put(np.zeros((64, 64), out), device.target)
    strides = (256, 1) if a_along_k else (1, 64), (1, 256) if b_along_k else (64, 1)
    args = (a, b, c, *strides[0], *strides[1], 256)
    one = device.profile(lambda: product[(1,)](*args, BK=64))
    assert np.array_equal(c.numpy(), x.astype(float) @ y.astype(float))
    assert Count("product", one["warps"], one["rows"]).conflicts() == 0


# ---- the counter itself: kernels whose costs can be told by hand -----------------------


@tegula.jit
def strided(x, y, STRIDE: tl.constexpr):
    i = tl.arange(0, 128)
    tl.store(y + i, tl.load(x + i * STRIDE))


@pytest.mark.parametrize("stride", [1, 2, 8, 33])
def test_sectors_of_a_strided_load(device, stride):
    x, y = device.random(128 * stride), device.empty(128)
    one = device.profile(lambda: strided[(3,)](x, y, STRIDE=stride, num_warps=4))
    c = Count("strided", one["warps"], one["rows"])
    assert c.warps == 12
    assert np.array_equal(y.numpy(), x.numpy()[:: stride or 1])
    # A program's 128 elements, each 4 bytes at a distance of 4 * stride.
    sectors = {1: 16, 2: 32, 8: 128, 33: 128}[stride]
    assert c.total("sectors", "ld.global") == 3 * sectors
    assert c.total("bytes", "ld.global") == 3 * 512
    assert c.efficiency("st.global") == 1
    assert c.total("wavefronts") == 0


@tegula.jit
def half_masked(x, y, n):
    i = tl.arange(0, 1024)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0))


def test_masked_lanes_cost_nothing(device):
    x, y = device.random(512), device.empty(1024)
    one = device.profile(lambda: half_masked[(1,)](x, y, 512, num_warps=4))
    c = Count("masked", one["warps"], one["rows"])
    assert c.total("sectors", "ld.global") == 64
    assert c.total("sectors", "st.global") == 128
    loads = [r for r in c.rows if r["class"] == "ld.global"]
    assert sum(r["run"] for r in loads) > sum(r["requests"] for r in loads)


def test_lines_are_the_kernels(device):
    x, y = device.random(512), device.empty(1024)
    one = device.profile(lambda: half_masked[(1,)](x, y, 512, num_warps=4))
    first = half_masked.fn.__code__.co_firstlineno
    lines = {r["src"] for r in one["rows"] if "global" in r["class"]}
    assert {s - first for s in lines} <= {2, 3, 4}
    assert lines


def test_only_what_was_asked_for(device):
    x, y = device.random(512), device.empty(1024)
    half_masked[(1,)](x, y, 512, num_warps=4)
    assert device.lib.ptxsim_profiled() == b"[]"
