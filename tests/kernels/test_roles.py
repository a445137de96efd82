"""Products whose operands other warps bring: rings of slots, filled through tensor maps. As
PTX: one loop, loops in loops, loops one behind the other, loops that do not run."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"


@tegula.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TURNED: tl.constexpr,
):  # fmt: skip
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    if TURNED:
        b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    else:
        b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = a.load([m, k])
        if TURNED:
            y = b.load([n, k]).T
        else:
            y = b.load([k, n])
        acc = tl.dot(x, y, acc)
    c.store([m, n], acc.to(c_ptr.dtype.element_ty))


@tegula.jit
def persistent_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(N, BN)
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, PROGRAMS):
        m, n = tile // across * BM, tile % across * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
        c.store([m, n], acc.to(tl.float16))


@tegula.jit
def attend(q, keys, values, top, total, acc, begin, end, rows, N, BN, MASKED):
    for at in range(begin, end, BN):
        s = tl.dot(q, keys.load([at, 0]).T)
        if MASKED:
            s = tl.where(rows[:, None] >= at + tl.arange(0, BN)[None, :], s, -1e9)
        higher = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2((s - higher[:, None]) * 0.1)
        shrink = tl.exp2((top - higher) * 0.1)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), values.load([at, 0]), acc * shrink[:, None])
        top = higher
    return top, total, acc


@tegula.jit
def attention(
    q_ptr, k_ptr, v_ptr, o_ptr, N,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM
    queries = tl.make_tensor_descriptor(q_ptr, [N, D], [D, 1], [BM, D])
    keys = tl.make_tensor_descriptor(k_ptr, [N, D], [D, 1], [BN, D])
    values = tl.make_tensor_descriptor(v_ptr, [N, D], [D, 1], [BN, D])
    out = tl.make_tensor_descriptor(o_ptr, [N, D], [D, 1], [BM, D])
    q = queries.load([m, 0])
    rows = m + tl.arange(0, BM)
    top = tl.full((BM,), -1e6, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    begin = m if CAUSAL else N
    top, total, acc = attend(
        q, keys, values, top, total, acc, 0, begin, rows, N, BN, False
    )
    if CAUSAL:
        top, total, acc = attend(
            q, keys, values, top, total, acc, m, m + BM, rows, N, BN, True
        )
    out.store([m, 0], (acc / total[:, None]).to(tl.float16))


@tegula.jit
def not_by_roles(a_ptr, rows_ptr, c_ptr, N, LOADED: tl.constexpr, STORED: tl.constexpr):
    """C = A @ A^T, of 64 rows; the row is loaded and counted, or A is stored, too."""
    a = tl.make_tensor_descriptor(a_ptr, [64, N], [N, 1], [64, 64])
    i = tl.arange(0, 64)
    row = tl.load(rows_ptr) if LOADED else 0
    if LOADED:
        tl.store(rows_ptr, row + 1)
    acc = tl.zeros((64, 64), tl.float32)
    for k in range(0, N, 64):
        x = a.load([row, k])
        acc = tl.dot(x, a.load([row, k]).T, acc)
        if STORED:
            tl.store(a_ptr + i, tl.load(a_ptr + i))
    tl.store(c_ptr + i[:, None] * 64 + i[None, :], acc)


def whole_numbers(seed: int, *shape: int, dtype=np.float16) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def ran(launch, fits: bool = True):
    """What launch gives, which must have run roles, and not what is there for misfits: a
    tensor without elements has no map."""
    lib = simulated.library()
    lib.ptxsim_profiled.restype = ctypes.c_char_p
    lib.ptxsim_profiled()
    lib.ptxsim_profile(1)
    try:
        compiled = launch()
    finally:
        lib.ptxsim_profile(0)
    assert (b"mbarrier.try_wait.parity" in lib.ptxsim_profiled()) == fits
    return compiled


def level(compiled) -> str:
    found = [line for line in str(compiled.report).splitlines() if "level" in line]
    assert found
    return "3" if all("level 3" in line for line in found) else "\n".join(found)


def run_matmul(
    sides, block, turned: bool, programs: int = 0, dtype=np.float16, **options
):
    (m, n, k), (bm, bn, bk) = sides, block
    a, b = whole_numbers(1, m, k, dtype=dtype), whole_numbers(2, k, n, dtype=dtype)
    c = np.full((m, n), np.nan, dtype)
    lies = np.ascontiguousarray(b.T) if turned else b
    there = [simulated.put(x, TARGET) for x in (a, lies, c)]
    constants = {"BM": bm, "BN": bn, "BK": bk, "hopper": "3", **options}
    constants = {k: v for k, v in constants.items() if v is not None}
    if programs:
        compiled = ran(
            lambda: persistent_matmul[(programs,)](
                *there, m, n, k, PROGRAMS=programs, **constants
            )
        )
    else:
        grid = (-(-m // bm), -(-n // bn))
        compiled = ran(
            lambda: matmul[grid](*there, m, n, k, TURNED=turned, **constants), k > 0
        )
    want = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(there[2].numpy(), want.astype(dtype))
    return compiled


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("block", "warps"),
    [
        ((64, 128, 64), 4),
        ((128, 128, 64), 4),
        ((128, 128, 64), 8),
        ((64, 64, 32), 4),
        ((128, 256, 64), 8),
    ],
)
def test_matmul(turned, block, warps):
    c = run_matmul((200, 264, 328), block, turned, num_warps=warps)
    assert level(c) == "3"


@pytest.mark.parametrize(
    ("block", "warps", "dtype"),
    [
        ((64, 64, 32), 4, np.float32),
        ((128, 128, 32), 8, np.float32),
        ((128, 256, 32), 8, np.float32),
        ((128, 128, 16), 4, np.float32),
        ((16, 128, 64), 4, np.float16),
        ((32, 64, 128), 4, np.float16),
        ((16, 64, 32), 4, np.float32),
    ],
)
def test_swapped(block, warps, dtype):
    """What is A in the program is B of wgmma: a row-major B of tf32, and few rows."""
    c = run_matmul((200, 264, 328), block, False, num_warps=warps, dtype=dtype)
    assert level(c) == "3"
    assert f"m64n{block[0]}k" in c.asm["ptx"]


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 4, 7])
def test_few_turns(turns):
    """None, and as many as slots, and one less and more."""
    run_matmul((64, 64, 64 * turns), (64, 64, 64), True, num_warps=4)


@pytest.mark.parametrize("stages", [1, 2, 5, 9])
def test_stages_are_hints(stages):
    """A product of 128x128x64 takes 512 clocks: three tiles on their way, two in hand."""
    c = run_matmul(
        (128, 128, 512), (128, 128, 64), True, num_warps=8, num_stages=stages
    )
    assert "mbar<5>" in c.asm["simt"]


@pytest.mark.parametrize(
    "block, warps, slots",
    [((64, 64, 64), 4, 4), ((64, 128, 64), 4, 4), ((128, 256, 64), 8, 4)],
)
def test_slots_leave_room_for_other_blocks(block, warps, slots):
    """Where two blocks are resident, each has no more slots than it needs."""
    sides = 9 * block[0], 2 * block[1], 64  # the simulated chip holds 16 at once
    c = run_matmul(sides, block, True, num_warps=warps)
    assert f"mbar<{slots}>" in c.asm["simt"]


@pytest.mark.parametrize("slots", [2, 3, 7])
def test_slots_asked_for(slots):
    c = run_matmul((64, 64, 512), (64, 64, 64), True, num_warps=4, hopper=f"3,{slots}")
    assert f"mbar<{slots}>" in c.asm["simt"]


def test_without_being_asked():
    c = run_matmul((200, 264, 328), (64, 128, 64), True, num_warps=4, hopper=None)
    assert level(c) == "3"


def compiled_for(**options):
    """By types, without a launch."""
    types = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16")
    types |= dict.fromkeys("MNK", "i32")
    constants = {"TURNED": True, "BM": 64, "BN": 64, "BK": 64}
    types |= dict.fromkeys(constants, "constexpr")
    divisible = {(i,): [["tt.divisibility", 16]] for i in range(6)}
    source = tegula.ASTSource(matmul, types, constants, divisible)
    return tegula.compile(source, "cuda:sm_90a", {"num_warps": 4, **options})


def test_nothing_hidden_without_a_launch():
    """Who compiles without a launch may take the code to a launcher of their own."""
    c = compiled_for()
    assert "tensormap" not in c.asm["ptx"] and "level 2: " in level(c)
    assert level(compiled_for(abi="tegula")) == "3"


def test_switched_off():
    """What is compiled from then on."""
    with tegula.knobs.nvidia.scope():
        tegula.knobs.nvidia.tma = False
        c = compiled_for(abi="tegula", num_stages=2)
        assert "level 2: " in level(c) and "TEGULA_TMA=0" in str(c.report)
    assert level(compiled_for(abi="tegula", num_stages=4)) == "3"


def test_registers_are_dealt():
    ptx = run_matmul((128, 256, 64), (128, 256, 64), True, num_warps=8).asm["ptx"]
    assert "setmaxnreg.inc.sync.aligned.u32 240" in ptx
    assert ".reqntid 384" in ptx
    assert ".minnctapersm 1" in ptx
    ptx = run_matmul((128, 128, 64), (128, 128, 64), True, num_warps=8).asm["ptx"]
    assert "setmaxnreg" not in ptx
    assert ".reqntid 288" in ptx


@pytest.mark.parametrize(("asked", "given"), [(160, 160), (255, 224)])
def test_registers_that_a_user_limits(asked, given):
    """They are not dealt: who waits for 240 would wait for ever. 288 threads have 224."""
    options = {"num_warps": 8, "maxnreg": asked}
    c = run_matmul((128, 256, 64), (128, 256, 64), True, **options)
    assert level(c) == "3" and "setmaxnreg" not in c.asm["ptx"]
    assert f".maxnreg {given}" in c.asm["ptx"]


@pytest.mark.parametrize("warps", [4, 8])
def test_persistent(warps):
    c = run_matmul((300, 400, 200), (128, 128, 64), True, programs=3, num_warps=warps)
    assert level(c) == "3"


def run_attention(n, causal, d, block, keys, **options):
    q, k, v = (whole_numbers(seed, n, d) for seed in range(3))
    there = [
        simulated.put(x, TARGET) for x in (q, k, v, np.full((n, d), np.nan, np.float16))
    ]
    c = ran(
        lambda: attention[(n // block,)](
            *there, n, BM=block, BN=keys, D=d, CAUSAL=causal, **options
        )
    )
    s = q.astype(np.float64) @ k.astype(np.float64).T * 0.1
    if causal:
        s = np.where(np.tril(np.ones((n, n), bool)), s, -np.inf)
    p = np.exp2(s - s.max(1, keepdims=True))
    want = p / p.sum(1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(there[3].numpy(), want, rtol=4e-3, atol=4e-3)
    return c


def test_groups_keep_their_distance():
    """In turn, the second group looks when the first one began the same program."""
    c = run_attention(18 * 128, True, 64, 128, 128, num_warps=8, persistent="1")
    assert "turn %" in c.asm["simt"]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("d", "block", "warps"), [(64, 64, 4), (128, 128, 4), (128, 128, 8)]
)
def test_attention(causal, d, block, warps):
    c = run_attention(4 * block, causal, d, block, 64, num_warps=warps, hopper="3")
    assert level(c) == "3"
    # Four warps would have 192 registers of accumulators each.
    assert c.metadata.num_warps == (8 if d == 128 else 4)
    assert ("8, not 4" in str(c.report)) == (d == 128 and warps == 4)
    # Queries, keys and values: loops one behind the other share the rings.
    assert c.asm["simt"].count(" = ring_alloc") == 3
    # The one with more to compute has its products side by side.
    assert str(c.report).count("rotated:") == (1 + causal if d == 128 else 0)


@pytest.mark.parametrize(
    ("stages", "keys", "d", "slots", "why"),
    [(3, 128, 64, 2, ""), (3, 64, 64, 3, ""),
     (3, 64, 128, 2, ""), (3, 32, 128, 3, ""),
     (3, 64, 32, 0, "3 blocks fit with them, 4 without"),
     # Five warps of more than 168 registers: a quarter holds no third warp.
     (2, 32, 256, 0, "1 blocks fit with them, 2 without")],
)  # fmt: skip
def test_blocks_that_roles_cost(stages, keys, d, slots, why):
    """One warpgroup has as many blocks with roles as without, or no roles."""
    types = dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "o_ptr"), "*fp16:16")
    c = attention.compile(
        *types.values(), "i32:16", BM=64, BN=keys, D=d, CAUSAL=False, num_warps=4,
        num_stages=stages, target="cuda:sm_90a",
    )  # fmt: skip
    assert why in str(c.report)
    assert (f"mbar<{slots}>" in c.asm["simt"]) == bool(slots)
    assert (".minnctapersm 2" in c.asm["ptx"]) == bool(slots)


@pytest.mark.parametrize("stages", [2, 4])
@pytest.mark.parametrize("block", [64, 128])
def test_decided_once(block, stages):
    """Blocks counted behind layouts may be others, and stages are not the ring's slots."""
    c = attention.compile(
        *["*fp16:16"] * 4, "i32:16", BM=block, BN=32, D=128, CAUSAL=True, num_warps=4,
        num_stages=stages, target="cuda:sm_90a",
    )  # fmt: skip
    assert c.asm["simt"].count(" = ring_alloc") == 3
    assert str(c.report).count("rotated:") == 2


@pytest.mark.parametrize(
    ("loaded", "stored", "options", "why"),
    [
        (1, 0, {"num_warps": 4}, "is loaded from what the kernel writes"),
        (0, 1, {"num_warps": 4}, "accessed in another way"),
        (0, 0, {"num_warps": 2, "maxnreg": 255}, "a warpgroup is 4 warps"),
        (0, 0, {"num_warps": 4, "hopper": "2"}, ""),
    ],
)
def test_where_they_do_not(loaded, stored, options, why):
    a = whole_numbers(1, 64, 192)
    there = [
        simulated.put(x, TARGET)
        for x in (a, np.zeros(1, np.int32), np.full((64, 64), np.nan, np.float32))
    ]
    c = not_by_roles[(1,)](
        *there, 192, LOADED=loaded, STORED=stored, **{"hopper": "3"} | options
    )
    want = a.astype(np.float32) @ a.astype(np.float32).T
    np.testing.assert_array_equal(there[2].numpy(), want)
    assert "ring_alloc" not in c.asm["simt"]
    assert why in str(c.report)
