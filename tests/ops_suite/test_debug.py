"""Printing, asserting, barriers, helpers: what has a text or a failure as its result."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from suite import Arg, Machine, result

import tegula
import tegula.language as tl


def printed(capfd: Any, machine: Machine) -> list[str]:
    if machine.name == "cuda":
        from suite import torch_cuda

        torch_cuda().cuda.synchronize()
    return sorted(set(capfd.readouterr().out.splitlines()))


VALUES = [
    ("int32", [-3, 7, 0, 2**31 - 1], "", ["-3", "7", "0", "2147483647"]),
    ("int64", [-(2**40), 1, 2, 3], "", [str(-(2**40)), "1", "2", "3"]),
    ("uint8", [0, 255, 16, 1], "", ["0", "255", "16", "1"]),
    ("uint64", [2**64 - 1, 0, 1, 2], "", [str(2**64 - 1), "0", "1", "2"]),
    ("float32", [0.5, -2.0, 1024.0, 0.0], "", ["0.500000", "-2.000000", "1024.000000", "0.000000"]),
    ("float64", [0.25, -1.0, 3.0, 8.0], "", ["0.250000", "-1.000000", "3.000000", "8.000000"]),
    ("int32", [-1, 255, 16, 0], ", hex=True", ["0xffffffff", "0x000000ff", "0x00000010", "0x00000000"]),
    ("uint8", [255, 1, 16, 0], ", hex=True", ["0xff", "0x01", "0x10", "0x00"]),
]  # fmt: skip


@pytest.mark.parametrize("dtype,values,options,want", VALUES)
def test_print(
    machine: Machine, capfd: Any, dtype: str, values: list, options: str, want: list
) -> None:
    """One line an element, with its program and its place."""
    body = f'tl.device_print("v", tl.load(x0 + tl.arange(0, 4)){options})'
    machine.run(body, Arg(np.array(values, dtype), dtype), grid=(2,))
    got = printed(capfd, machine)
    lines = [
        f"pid ({pid}, 0, 0) idx ({i}) v: {v}"
        for pid in (0, 1)
        for i, v in enumerate(want)
    ]
    assert got == sorted(lines)


def test_print_many(machine: Machine, capfd: Any) -> None:
    """Several operands, two dimensions, a scalar."""
    body = """
i = tl.reshape(tl.arange(0, 16), (8, 2))
tl.device_print("a", i, i * 2)
tl.device_print("s", tl.load(x0))
"""
    machine.run(body, Arg(np.array([9], np.int32), "int32"))
    got = printed(capfd, machine)
    assert len(got) == 33
    assert any(
        re.fullmatch(r"pid \(0, 0, 0\) idx \(7, 1\) ?a: \(operand 1\) 30", g)
        for g in got
    ), got
    assert any(re.match(r"pid \(0, 0, 0\) idx \(\) ?s: 9$", g) for g in got), got


def test_print_pointer(machine: Machine, capfd: Any) -> None:
    """An address in hex, 64 bits wide."""
    machine.run('tl.device_print("p", x0)', Arg(np.zeros(1, np.int32), "int32"))
    got = printed(capfd, machine)
    assert len(got) == 1
    assert re.fullmatch(r"pid \(0, 0, 0\) idx \(\) p: 0x[0-9a-f]{16}", got[0]), got


def test_static_print(machine: Machine, capfd: Any) -> None:
    body = """
x = tl.load(x0 + tl.arange(0, 8))
tl.static_print("made of", x.shape[0], x.dtype, sep="|")
tl.store(x0 + tl.arange(0, 8), x)
"""
    with tegula.knobs.compilation.scope() as group:
        group.always_compile = True  # from the disk cache, nothing is printed
        machine.run(body, Arg(np.zeros(8, np.float32), "float32"))
    assert "made of|8|fp32" in capfd.readouterr().out


ASSERTS = (
    "tl.device_assert(x < 5, 'too large')",
    "assert tl.max(x, 0) < 5, 'too large'",
)


@pytest.mark.parametrize("text", ASSERTS, ids=("block", "statement"))
@pytest.mark.parametrize("top", (4, 5))
def test_device_assert(machine: Machine, text: str, top: int) -> None:
    if machine.name == "cuda" and top == 5:
        pytest.skip("a trap ends the context of every later test")
    body = f"x = tl.load(x0 + tl.arange(0, 64))\n{text}\ntl.store(x0 + tl.arange(0, 64), x + 1)"
    x = Arg(np.full(64, top, np.int32), "int32")
    got = machine.run(body, x)[0]  # no debug: no assertion
    np.testing.assert_array_equal(got, top + 1)
    if top == 4:
        got = machine.run(body, x, options={"debug": True})[0]
        np.testing.assert_array_equal(got, 5)
        return
    error = RuntimeError if machine.is_simulated else tegula.TegulaError
    with pytest.raises(error, match="too large"):  # a driver knows only CUDA's errors
        machine.run(body, x, options={"debug": True})


@pytest.mark.parametrize("warps", (1, 4, 8))
def test_debug_barrier(machine: Machine, warps: int) -> None:
    """What one thread wrote before it, another reads after it."""
    body = """
i = tl.arange(0, 256)
tl.store(x0 + i, i)
tl.debug_barrier()
y = tl.load(x0 + (255 - i))
tl.debug_barrier()
tl.store(x0 + i, y * 2)
"""
    got = machine.run(body, result("int32", 256), options={"num_warps": warps})[0]
    np.testing.assert_array_equal(got, np.arange(255, -1, -1) * 2)


@tegula.jit
def scaled(x, factor: tl.constexpr = 2, *, offset=1):
    return x * factor + offset


@tegula.jit
def pair(x):
    return x - 1, scaled(x, 3)


@tegula.jit
def fact(n: tl.constexpr):
    if n <= 1:
        return 1
    else:
        return n * fact(n - 1)


def test_helpers(machine: Machine) -> None:
    """Helpers with defaults, keywords and tuples, one in another, recursion on constants."""
    body = """
i = tl.arange(0, 16)
a, b = pair(i)
tl.store(x0 + i, scaled(a) + scaled(b, offset=5) + fact(5))
"""
    got = machine.run(body, result("int32", 16), helpers=(scaled, pair, fact))[0]
    i = np.arange(16)
    np.testing.assert_array_equal(got, (i - 1) * 2 + 1 + (i * 3 + 1) * 2 + 5 + 120)


def test_static_assert(machine: Machine) -> None:
    with pytest.raises(tegula.CompileError, match="four of them"):
        machine.run("tl.static_assert(1 + 1 == 4, 'four of them')", result("int32", 1))


@pytest.mark.parametrize("warps", (1, 2, 4, 8))
def test_num_warps(machine: Machine, warps: int) -> None:
    body = """
tl.store(x0, tl.extra.cuda.num_warps())
tl.store(x0 + 1, tl.extra.cuda.num_threads())
"""
    got = machine.run(body, result("int32", 2), options={"num_warps": warps})[0]
    np.testing.assert_array_equal(got, [warps, 32 * warps])


@pytest.mark.parametrize("chip", ("sm_75", "sm_90a", "sm_120a"))
def test_registers_of_the_gpu(chip: str) -> None:
    """smid and globaltimer are read where they stand; elsewhere a clock of the host's."""

    @tegula.jit
    def kernel(x, t):
        tl.store(x, tl.extra.cuda.smid())
        tl.store(t, tl.extra.cuda.globaltimer())

    ptx = kernel.compile("*i32", "*i64", target=f"cuda:{chip}").asm["ptx"]
    assert "%smid" in ptx and "%globaltimer" in ptx
    times = []
    for target in ("cpu", "emu:sm_80"):
        with tegula.knobs.runtime.scope() as group:
            group.target = target
            x, t = np.full(1, -1, np.int32), np.zeros(1, np.int64)
            kernel[(1,)](x, t)
            times.append(int(t[0]))
            assert x[0] >= 0
    assert 0 < times[0] < times[1]
