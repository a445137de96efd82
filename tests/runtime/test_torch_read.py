"""torch's tensors by its C functions (runtime/torch.c): what they are at each launch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tegula as triton
import tegula.language as tl

torch = pytest.importorskip("torch")


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    s = tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n)
    tl.store(out + i, s, mask=i < n)


def run(x: Any, y: Any) -> list[float]:
    out = torch.zeros(64)
    add[(1,)](x, y, out, x.numel(), B=64)
    return sorted(set(out.tolist()))


def full(value: float, dtype: Any = torch.float32) -> Any:
    return torch.full((64,), value, dtype=dtype)


@pytest.fixture(autouse=True)
def known() -> None:
    """Tensors of these types have been read before."""
    for dtype in (torch.float32, torch.float64, torch.int32):
        assert run(full(1, dtype), full(1, dtype)) == [2]


def test_a_tensor_is_read_at_each_launch():
    x, y = full(1), full(2)
    assert run(x, y) == [3]
    x.data = full(5)
    assert run(x, y) == [7]
    x.data = full(6, torch.float64)
    assert run(x, y) == [8]
    x.set_(full(9, torch.float64))
    assert run(x, y) == [11]
    ramp = torch.arange(65.0)
    y.data = ramp[1:]
    assert run(x, y) == [9 + i for i in range(1, 65)]
    x.resize_(0)
    assert run(x, y) == [0]


@triton.jit
def first(x, y, out):
    tl.store(out, tl.load(x) + tl.load(y))


def test_views_and_single_elements():
    ramp, out = torch.arange(64.0), torch.zeros(1)
    part = torch.view_as_real(torch.complex(ramp, -ramp))
    views = (ramp[5:].view(1, -1), ramp.view(8, 8).t()[1:], ramp[4:][::2], ramp[9:10])
    views += (ramp[7], ramp[3:4].expand(5), part[5, 1], part[1:, 1], ramp[8:].int())
    for _ in range(2):
        for x in views:
            for y in views:
                first[(1,)](x, y, out)
                assert out[0] == x.flatten()[0] + y.flatten()[0]
    negated = torch.complex(ramp, ramp).conj().imag
    for x in (negated, negated[:1], negated[3]):
        for args in ((ramp, x), (x, ramp)):
            with pytest.raises(TypeError, match="negates its memory"):
                first[(1,)](*args, out)


def test_tensors_that_change_places():
    x, y = full(1), full(4, torch.int32)
    assert run(x, x) == [2]
    torch.utils.swap_tensors(x, y)
    assert run(x, x) == [8] and run(y, y) == [2]


def test_a_lazy_copy_is_made_before_the_kernel_writes():
    x = full(1)
    lazy = torch._lazy_clone(x)
    add[(1,)](lazy, lazy, lazy, 64, B=64)
    assert x[0] == 1 and lazy[0] == 2


def test_subclasses_and_parameters():
    class Sub(torch.Tensor):
        pass

    for x in (full(3).as_subclass(Sub), torch.nn.Parameter(full(3))):
        for _ in range(3):
            assert run(x.detach(), x) == [6] and run(x, x.detach()) == [6]


@pytest.mark.parametrize(
    "of",
    [
        lambda x: x.to("meta"),
        lambda x: x.to_sparse(),
        lambda x: x.to_mkldnn(),
        lambda x: (x.untyped_storage().resize_(0), x)[1],
        lambda x: torch.zeros(64, dtype=torch.complex64).conj().imag,
    ],
    ids=["meta", "sparse", "mkldnn", "freed", "negated"],
)
def test_what_has_no_memory_is_refused(of: Any):
    x = full(1)
    try:
        y = of(full(1))
    except RuntimeError:
        pytest.skip("this torch is built without")
    for args in ((x, y), (y, y)):
        with pytest.raises(TypeError, match="that kernels cannot read"):
            add[(1,)](*args, x, 64, B=64)


def test_vmap_is_refused():
    with pytest.raises(TypeError, match="that kernels cannot read"):
        torch.vmap(lambda x: (add[(1,)](x, x, x, 64, B=64), x)[1])(torch.ones(2, 64))


COUNTED = """
import ctypes, sys, torch, tegula as triton, tegula.language as tl
from pathlib import Path

@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) + tl.load(y + i), mask=i < n)

capsule = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
lib = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
if capsule is None or not hasattr(lib, "torch_get_mutable_data_ptr"):
    sys.exit(77)
name, py = b"dlpack_exchange_api", ctypes.pythonapi
py.PyCapsule_GetPointer.restype = ctypes.c_void_p
py.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
py.PyCapsule_New.restype = ctypes.py_object
py.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api = (ctypes.c_void_p * 7).from_address(py.PyCapsule_GetPointer(capsule, name))
ours = (ctypes.c_void_p * 7)(*api)
reader = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
read, asked = reader(api[5]), []
keep = reader(lambda x, out: (asked.append(x), read(x, out))[1])
ours[5] = ctypes.cast(keep, ctypes.c_void_p).value

class Counted(torch.Tensor):
    __dlpack_c_exchange_api__ = py.PyCapsule_New(ctypes.addressof(ours), name, None)

def full(value, dtype=torch.float32):
    return torch.full((64,), value, dtype=dtype).as_subclass(Counted)
x, y, z = full(1), full(2), full(3, torch.int32)
add[(1,)](x, z, x, 64, B=64)
# A launch that compiles or loads asks again, whether its tensors are where they were.
for _ in range(2):
    add[(1,)](x, y, y, 64, B=64)
    add[(1,)](z, y, y, 64, B=64)
asked.clear()
for _ in range(3):
    add[(1,)](x, y, y, 64, B=64)
    add[(1,)](z, y, y, 64, B=64)
assert not asked, asked
wide = full(1, torch.float64)
add[(1,)](wide, y, y, 64, B=64)
assert asked[0] == id(wide), asked
add[(1,)](wide, y, y, 64, B=64)
asked.clear()
add[(1,)](wide, y, y, 64, B=64)
assert not asked, asked
"""


def test_the_exchange_function_is_asked_of_new_types_alone(tmp_path):
    script = tmp_path / "counted.py"
    script.write_text(COUNTED)
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(triton.__file__).parents[1])},
    )
    if done.returncode == 77:
        pytest.skip("this torch has no such functions")
    assert done.returncode == 0, done.stderr
