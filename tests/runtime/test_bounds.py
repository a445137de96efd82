"""TEGULA_CHECK_BOUNDS: on the CPU, an access outside of the tensors is an error."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.errors import OutOfBoundsError


@pytest.fixture(autouse=True)
def checked():
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.check_bounds = True
        yield


def test_reinterpreted_tensors():
    torch = pytest.importorskip("torch")
    x = tegula.reinterpret(torch.zeros(8, dtype=torch.int32), tl.uint32)
    y = torch.zeros(8, dtype=torch.int32)
    copy[(1,)](x, y, 8, BLOCK=16)
    with pytest.raises(OutOfBoundsError, match=r"element 8 of 'x' \(uint32, 8"):
        whole[(1,)](x, y, 8, BLOCK=16)


@tegula.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)  # READ
    tl.store(y + i, v, mask=i < n)  # WRITE


@tegula.jit
def whole(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)  # READ
    tl.store(y + i, v)  # WRITE


@tegula.jit
def one(x, y, n, BLOCK: tl.constexpr):
    v = tl.load(x + n - 1)  # READ
    tl.store(y + n - 1, v)  # WRITE


@tegula.jit
def every_third(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK) * 3
    v = tl.load(x + i, mask=i < n)  # READ
    tl.store(y + i, v, mask=i < n)  # WRITE


@tegula.jit
def backwards(x, y, n, BLOCK: tl.constexpr):
    i = n - 1 - tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i >= 0)  # READ
    tl.store(y + i, v, mask=i >= 0)  # WRITE


@tegula.jit
def added(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)  # READ
    tl.atomic_add(y + i, v, mask=i < n)  # WRITE


@tegula.jit
def added_one(x, y, n, BLOCK: tl.constexpr):
    v = tl.load(x + n - 1)  # READ
    tl.atomic_add(y + n - 1, v)  # WRITE


@tegula.jit
def in_a_loop(x, y, n, BLOCK: tl.constexpr):
    px = x + tl.arange(0, BLOCK)
    py = y + tl.arange(0, BLOCK)
    for at in range(0, n, BLOCK):
        inside = tl.arange(0, BLOCK) < n - at
        v = tl.load(px, mask=inside)  # READ
        tl.store(py, v, mask=inside)  # WRITE
        px += BLOCK
        py += BLOCK


@tegula.jit
def in_tiles(x, y, n, BLOCK: tl.constexpr):
    row, col = tl.arange(0, 4)[:, None], tl.arange(0, BLOCK)[None, :]
    i = row * BLOCK + col
    v = tl.load(x + i, mask=i < n)  # READ
    tl.store(y + i, v, mask=i < n)  # WRITE


@tegula.jit
def by_a_helper(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    write(y, i, read(x, i, n), n)


@tegula.jit
def read(p, i, n):
    return tl.load(p + i, mask=i < n)  # READ


@tegula.jit
def write(p, i, v, n):
    tl.store(p + i, v, mask=i < n)  # WRITE


# Each touches exactly the elements up to n, for this n.
KERNELS = [
    (copy, 1000),
    (whole, 1024),
    (one, 7),
    (every_third, 700),
    (backwards, 200),
    (added, 200),
    (added_one, 7),
    (in_a_loop, 1000),
    (in_tiles, 1000),
    (by_a_helper, 1000),
]
GRID, BLOCK = (4,), 256
SOURCE = Path(__file__).read_text().split("\n")


def line_of(kernel, mark: str) -> int:
    fn = {by_a_helper: read if mark == "READ" else write}.get(kernel, kernel).fn
    start = fn.__code__.co_firstlineno
    return next(i for i in range(start, len(SOURCE)) if f"# {mark}" in SOURCE[i - 1])


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64, np.int64])
@pytest.mark.parametrize(
    ("kernel", "n"), KERNELS, ids=lambda k: getattr(k, "__name__", "")
)
def test_the_last_element_and_the_one_behind(kernel, n, dtype):
    x = np.arange(1, 1025).astype(dtype)
    got, want = np.zeros(1024, dtype), np.zeros(1024, dtype)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.check_bounds = False
        plain = kernel[GRID](x, want, n, BLOCK=BLOCK)
    compiled = kernel[GRID](x[:n], got[:n], n, BLOCK=BLOCK)
    assert got.tolist() == want.tolist() and got[:n].any()
    assert compiled is not plain
    assert "tegula_bounds" in compiled.asm["llir"]
    assert "tegula_bounds" not in plain.asm["llir"]
    last = 3 * ((n - 1) // 3) if kernel is every_third else n - 1
    for mark, name, args in (
        ("READ", "x", (x[:last], got)),
        ("WRITE", "y", (x, got[:last])),
    ):
        with pytest.raises(OutOfBoundsError) as e:
            kernel[GRID](*args, n, BLOCK=BLOCK)
        word = "load" if mark == "READ" else "store"
        count = f"{last} element" + "s" * (last != 1)
        assert e.value.message == (
            f"{word} of element {last} of '{name}' ({np.dtype(dtype)}, {count})"
        )
        assert (e.value.filename, e.value.lineno) == (__file__, line_of(kernel, mark))
        assert e.value.program_id[0] in range(4) and e.value.thread == -1
        assert re.search(r"^  program \(\d, 0, 0\) of \w+\(\)", str(e.value), re.M)
        assert f"# {mark}" in str(e.value)


def test_nothing_outside_is_written():
    memory = np.zeros(4096, np.float32)
    for start, n in ((0, 1024), (16, 1001), (1, 255)):
        inside = memory[1024 + start : 1024 + start + n]
        for kernel in (whole, copy):
            with pytest.raises(OutOfBoundsError):
                kernel[(8,)](np.ones(4096, np.float32), inside, 2048, BLOCK=256)
            inside[:] = 0
            assert not memory.any()


def test_before_the_start():
    x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)
    with pytest.raises(OutOfBoundsError) as e:
        one[(1,)](x[8:], y, -2, BLOCK=1)
    assert "load of element -3 of 'x' (float32, 56 elements)" in e.value.message


def test_a_pointer_may_reach_into_another_tensor_of_the_launch():
    """As the emulator has it: what counts is that the memory is one of theirs."""
    memory = np.arange(2048, dtype=np.float32)
    x, y = memory[:1000], memory[1000:]
    copy[(5,)](x, y, 1040, BLOCK=256)


def test_empty_tensors_and_none():
    empty = np.zeros(0, np.float32)
    copy[(1,)](empty, empty, 0, BLOCK=16)
    with pytest.raises(OutOfBoundsError) as e:
        copy[(1,)](empty, empty, 1, BLOCK=16)
    assert "(float32, 0 elements)" in e.value.message


@tegula.jit
def from_integer(address, y):
    p = address.to(tl.pointer_type(tl.float32))
    tl.store(y, tl.load(p))


def test_an_address_in_an_integer_leads_where_memory_is():
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    from_integer[(1,)](x.ctypes.data, y)
    assert y[0] == 1
    with pytest.raises(OutOfBoundsError, match="at 0x1000, where no memory is"):
        from_integer[(1,)](0x1000, y)


@tegula.jit
def table(base, out, n, BLOCK: tl.constexpr):
    at = tl.load(base + tl.arange(0, BLOCK), mask=tl.arange(0, BLOCK) < n, other=0)
    tl.store(out + at, 1.0)


def test_indices_from_memory():
    out = np.zeros(100, np.float32)
    index = np.arange(0, 64, dtype=np.int32)
    table[(1,)](index, out, 64, BLOCK=64)
    assert out[:64].all() and not out[64:].any()
    index[37] = 100
    with pytest.raises(OutOfBoundsError) as e:
        table[(1,)](index, out, 64, BLOCK=64)
    assert "element 100 of 'out' (float32, 100 elements)" in e.value.message


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x, y = torch.arange(100.0, requires_grad=True), torch.zeros(100)
    copy[(1,)](x, y, 100, BLOCK=256)
    assert y.tolist() == x.tolist()
    with pytest.raises(OutOfBoundsError):
        copy[(1,)](x, torch.zeros(99), 100, BLOCK=256)
    with pytest.raises(OutOfBoundsError):
        copy[(1,)](x, y[1:], 100, BLOCK=256)


@tegula.jit
def row_sums(rows, x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.load(rows + row * stride)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + at + i, at + i < tl.load(rows + (row + 1) * stride), 0)
    tl.store(out + row, tl.sum(values))


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80"])
def test_views_of_torch_reach_as_far_as_their_storage(target):
    """Kernels are given crow[:-1], and look at the end of the last row as well."""
    torch = pytest.importorskip("torch")
    tegula.knobs.runtime.target = target
    crow = torch.tensor([0, 3, 3, 10])
    x, out = torch.arange(10.0), torch.zeros(3)
    row_sums[(3,)](crow[:-1], x[:2], out, 1, BLOCK=16)
    assert out.tolist() == [3, 0, 42]
    with pytest.raises(
        OutOfBoundsError, match=r"byte 32|element 4 of 'rows' \(int64, 3"
    ):
        row_sums[(4,)](crow[:-1], x, out, 1, BLOCK=16)
    apart = torch.tensor([0, 10])
    with pytest.raises(OutOfBoundsError):
        row_sums[(1,)](apart[1:], x, out, 1, BLOCK=16)


def test_the_emulator_says_the_same():
    x, y = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
    places = set()
    for target in ("cpu", "emu:sm_80"):
        tegula.knobs.runtime.target = target
        with pytest.raises(OutOfBoundsError) as e:
            copy[(4,)](x[:999], y, 1000, BLOCK=256)
        places.add((e.value.lineno, e.value.offset))
    assert len(places) == 1


def test_the_process_goes_on():
    x, y = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    for _ in range(50):
        with pytest.raises(OutOfBoundsError):
            copy[(64,)](x, y[:17], 1000, BLOCK=16)
        copy[(64,)](x, y, 1000, BLOCK=16)
        assert y.all()
        y[:] = 0


def test_the_environment_switches_it_on(tmp_path):
    (tmp_path / "script.py").write_text(
        "import numpy as np, tegula, tegula.language as tl\n"
        "@tegula.jit\n"
        "def fill(x, BLOCK: tl.constexpr):\n"
        "    tl.store(x + tl.arange(0, BLOCK), 1.0)\n"
        "fill[(1,)](np.zeros(10, np.float32), BLOCK=16)\n"
    )
    root = Path(tegula.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "script.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={
            **os.environ,  # a sanitizer's LD_PRELOAD, too
            "PYTHONPATH": str(root),
            "TEGULA_CHECK_BOUNDS": "1",
            "HOME": str(tmp_path),
        },
    )
    assert done.returncode == 1
    assert "script.py:4:5: OutOfBoundsError: store of element 10 of" in done.stderr
