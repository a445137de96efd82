"""The streams of random numbers, beside Philox in NumPy as its paper has it."""

from __future__ import annotations

import numpy as np
import pytest
from suite import Arg, Machine, close, result

# Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011: 4 words of `w` bits.
CONSTANTS = {
    32: (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85),
    64: (
        0xD2E7470EE14C6C93,
        0xCA5A826395121157,
        0x9E3779B97F4A7C15,
        0xBB67AE8584CAA73B,
    ),
}


def philox(
    seed: int, counters: list, rounds: int = 10, w: int = 32
) -> list[np.ndarray]:
    top = 2**w - 1
    c = [np.atleast_1d(v).astype(object) & top for v in counters]
    keys = [seed & top, seed >> w & top]
    m0, m1, w0, w1 = CONSTANTS[w]
    for _ in range(rounds):
        p0, p1 = c[0] * m0, c[2] * m1
        c = [p1 >> w ^ c[1] ^ keys[0], p1 & top, p0 >> w ^ c[3] ^ keys[1], p0 & top]
        keys = [keys[0] + w0 & top, keys[1] + w1 & top]
    return [v.astype(f"uint{w}") for v in c]


def uniform(bits: np.ndarray) -> np.ndarray:
    x = bits.view(np.int32).astype(np.int64)
    x = np.where(x < 0, -x - 1, x).astype(np.float32)
    return x * np.float32(4.6566127342e-10)


SEEDS = (0, 42, 2**31 - 1, 2**40 + 12345, 2**63 - 1)
N = 128


def stream(seed: int, kind: str, n: int = N, rounds: int = 10) -> list[np.ndarray]:
    offset = np.arange(n) + (2**35 + 2**31 if kind == "int64" else 0)
    return philox(seed, [offset, offset >> 32, 0 * offset, 0 * offset], rounds)


@pytest.mark.parametrize("kind", ("int32", "int64"))
@pytest.mark.parametrize("seed", SEEDS)
def test_streams(machine: Machine, seed: int, kind: str) -> None:
    x = np.array([seed], np.int64)
    far = " + (1 << 35) + (1 << 31)" if kind == "int64" else ""
    body = f"""
i = tl.arange(0, {N})
seed = tl.load(x0)
o = i.to(tl.{kind}){far}
r = tl.randint(seed, o)
tl.static_assert(r.dtype == tl.uint32)
tl.store(x1 + i, r)
a, b, c, d = tl.randint4x(seed, o)
tl.store(x2 + i, a)
tl.store(x2 + {N} + i, b)
tl.store(x2 + {2 * N} + i, c)
tl.store(x2 + {3 * N} + i, d)
tl.store(x3 + i, tl.rand(seed, o))
a, b, c, d = tl.rand4x(seed, o)
tl.store(x4 + i, a)
tl.store(x4 + {N} + i, b)
tl.store(x4 + {2 * N} + i, c)
tl.store(x4 + {3 * N} + i, d)
"""
    u, f = "uint32", "float32"
    memory = result(u, N), result(u, (4, N)), result(f, N), result(f, (4, N))
    got = machine.run(body, Arg(x, "int64"), *memory)[1:]
    want = stream(seed, kind)
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_array_equal(got[1], want)
    np.testing.assert_array_equal(got[2], uniform(want[0]))
    np.testing.assert_array_equal(got[3], [uniform(v) for v in want])


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_normal(machine: Machine, seed: int) -> None:
    body = f"""
i = tl.arange(0, {N})
tl.store(x0 + i, tl.randn({seed}, i))
a, b, c, d = tl.randn4x({seed}, i)
tl.store(x1 + i, a)
tl.store(x1 + {N} + i, b)
tl.store(x1 + {2 * N} + i, c)
tl.store(x1 + {3 * N} + i, d)
"""
    got = machine.run(body, result("float32", N), result("float32", (4, N)))
    u = [uniform(v).astype(np.float64) for v in stream(seed, "int32")]
    want = []
    for a, b in (u[:2], u[2:]):
        radius = np.sqrt(-2 * np.log(np.maximum(a, 1e-7)))
        want += [radius * np.cos(2 * np.pi * b), radius * np.sin(2 * np.pi * b)]
    # 2 pi u is rounded before cos takes it: half a unit of an angle up to 6.3.
    close(got[0], want[0], "float32", ulp=8, tiny=8.0)
    for g, w in zip(got[1], want, strict=True):
        close(g, w, "float32", ulp=8, tiny=8.0)


@pytest.mark.parametrize("rounds", (1, 7, 10))
@pytest.mark.parametrize("w", (32, 64))
def test_philox(machine: Machine, w: int, rounds: int) -> None:
    """All four counters, of either width, any number of rounds."""
    seed = 0x0123456789ABCDEF
    rng = np.random.default_rng(rounds)
    c = rng.integers(0, 2**w, (4, 64), dtype=f"uint{w}")
    t = f"uint{w}"
    body = f"""
i = tl.arange(0, 64)
seed = tl.load(x0)
a, b, c, d = tl.philox(seed, tl.load(x1 + i), tl.load(x1 + 64 + i), tl.load(x1 + 128 + i), tl.load(x1 + 192 + i), n_rounds={rounds})
tl.static_assert(a.dtype == tl.{t})
tl.store(x2 + i, a)
tl.store(x2 + 64 + i, b)
tl.store(x2 + 128 + i, c)
tl.store(x2 + 192 + i, d)
"""
    key = Arg(np.array([seed], np.uint64), "uint64")
    got = machine.run(body, key, Arg(c, t), result(t, (4, 64)))[2]
    np.testing.assert_array_equal(got, philox(seed, list(c), rounds, w))


def test_known_answer() -> None:
    """The test vectors that come with the paper's library: this file's own Philox."""
    ones = 2**32 - 1
    assert np.ravel(philox(0, [0, 0, 0, 0])).tolist() == [
        0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8,
    ]  # fmt: skip
    assert np.ravel(philox(2**64 - 1, [ones] * 4)).tolist() == [
        0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD,
    ]  # fmt: skip
