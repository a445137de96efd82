"""Tensors of other libraries: each is read in place, or refused by name, unlaunched."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import dlpack_mock as dl
import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.tools.tensor_descriptor import TensorDescriptor


@tegula.jit
def copy(x, y, n, BLOCK: tl.constexpr = 64):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@tegula.jit
def address(x, y):
    tl.store(y, x.to(tl.int64))


@tegula.jit
def add_to(x, y, n, BLOCK: tl.constexpr = 64):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@tegula.jit
def copy_pair(pair, BLOCK: tl.constexpr = 64):
    i = tl.arange(0, BLOCK)
    tl.store(pair[1] + i, tl.load(pair[0] + i))


@tegula.jit
def copy_tile(x, y):
    y.store([0, 0], x.load([0, 0]))


def error(kind, fn) -> str:
    with pytest.raises(kind) as e:
        fn()
    assert type(e.value) is kind
    assert e.value.__cause__ is None and e.value.__context__ is None
    return str(e.value)


def unreadable(x) -> str:
    y = np.zeros(64, np.float32)
    message = error(TypeError, lambda: copy[(1,)](x, y, 4))
    assert re.match(rf"argument 'x' is an? {type(x).__name__} that kernels", message)
    assert not y.any()
    return message.partition("cannot read: ")[2]


# --- JAX -----------------------------------------------------------------------------
@pytest.fixture
def jnp():
    return pytest.importorskip("jax.numpy")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "bool"])
def test_jax_arrays_are_read_in_place(jnp, dtype):
    x = jnp.arange(64).astype(dtype)
    y = np.zeros(64, np.float32)
    copy[(1,)](x, y, 64)
    assert y.tolist() == x.astype("float32").tolist()
    at = np.zeros(1, np.int64)
    address[(1,)](x, at)
    assert at[0] == x.unsafe_buffer_pointer()
    assert jnp.from_dlpack(y).tolist() == y.tolist()


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "interpret"])
def test_jax_arrays_are_not_written(jnp, target):
    x, y = jnp.arange(64.0), jnp.zeros(64)
    tile = [TensorDescriptor(t, [8, 8], [8, 1], [8, 8]) for t in (x, y)]
    with tegula.knobs.runtime.scope():
        if target == "interpret":
            tegula.knobs.runtime.interpret = True
        else:
            tegula.knobs.runtime.target = target
        for _ in range(2):
            for name, launch in {
                "y": lambda: copy[(1,)](x, y, 64),
                "pair": lambda: copy_pair[(1,)]((x, y)),
            }.items():
                message = error(ValueError, launch)
                assert message.startswith(
                    f"argument '{name}' is a JAX array, which never changes, and copy"
                )
                assert "pass a NumPy array" in message
            assert "'y' is a JAX" in error(ValueError, lambda: add_to[(1,)](x, y, 64))
            assert "'y' is a JAX" in error(ValueError, lambda: copy_tile[(1,)](*tile))
            assert "'y' is a JAX" in error(ValueError, lambda: copy[(1,)](x, x, 64))
        good = copy[(1,)](x, np.zeros(64, np.float32), 64)
        assert "'y' is a JAX" in error(ValueError, lambda: good[(1,)](x, y, 64))
        assert "'y' is a JAX" in error(
            ValueError, lambda: copy.warmup(x, y, 64, grid=(1,))
        )
    assert y.tolist() == [0.0] * 64 and x.tolist() == list(range(64))


def test_a_numpy_view_of_a_jax_array_is_read_only_too(jnp):
    x = jnp.arange(64.0)
    assert "'y' is read-only" in error(
        ValueError, lambda: copy[(1,)](x, np.asarray(x), 64)
    )


def test_jax_arrays_that_cannot_be_read(jnp):
    import jax

    gone = jnp.zeros(4)
    gone.delete()
    assert "deleted" in unreadable(gone)
    assert "complex64" in unreadable(jnp.zeros(4, jnp.complex64))
    seen = []
    jax.jit(lambda x: seen.append(unreadable(x)) or x)(jnp.zeros(4))
    assert "tracer" in seen[0]
    key = jax.random.key(0)
    assert "'x': a PRNGKeyArray" in error(
        TypeError, lambda: copy[(1,)](key, np.zeros(4, np.float32), 4)
    )


def test_jax_arrays_over_several_devices(jnp, tmp_path):
    """In a process of its own: the number of devices is set when JAX starts."""
    (tmp_path / "script.py").write_text(
        """
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import tegula, tegula.language as tl

@tegula.jit
def copy(x, y, BLOCK: tl.constexpr = 4):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))

y = np.zeros(4, np.float32)
mesh = Mesh(np.array(jax.devices()), ("a",))
for spec in (PartitionSpec("a"), PartitionSpec()):
    x = jax.device_put(np.ones(4, np.float32), NamedSharding(mesh, spec))
    try:
        copy[(1,)](x, y)
    except TypeError as e:
        print(e)
print(y.tolist())
x = jax.device_put(np.ones(4, np.float32), jax.devices()[1])
copy[(1,)](x, y)
print(y.tolist())
"""
    )
    done = subprocess.run(
        [sys.executable, "script.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={
            **os.environ,
            "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
            "PYTHONPATH": str(Path(tegula.__file__).parents[1]),
        },
    )
    assert done.returncode == 0, done.stderr
    *refused, before, after = done.stdout.strip().split("\n")
    assert len(refused) == 2
    assert all(
        r.startswith("argument 'x' is an ArrayImpl that kernels cannot read")
        for r in refused
    )
    assert before == str([0.0] * 4) and after == str([1.0] * 4)


# --- the protocol, by stand-ins --------------------------------------------------------
class Versioned(dl.Producer):
    def __dlpack__(self, *, stream=None, max_version=None):
        self.asked.append(max_version)
        return self.capsule(versioned=max_version is not None and max_version >= (1, 0))


class Old(dl.Producer):
    def __dlpack__(self, stream=None):
        self.asked.append(stream)
        return self.capsule()


Immutable = type("Tensor", (Versioned,), {"__module__": "tensorflow.python.ops"})


def test_capsules_with_a_version():
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    source, sink = Versioned(x), Versioned(y)
    copy[(1,)](source, sink, 4)
    assert y.tolist() == x.tolist()
    assert source.asked[0] >= (1, 0)
    frozen = Versioned(y, flags=dl.READ_ONLY)
    assert "'y' is read-only" in error(
        ValueError, lambda: copy[(1,)](source, frozen, 4)
    )
    copy[(1,)](frozen, x, 4)
    assert "copy" in unreadable(Versioned(x, flags=dl.COPIED))
    assert "version 2" in unreadable(Versioned(x, major=2))
    assert source.n_alive == sink.n_alive == frozen.n_alive == 0


def test_producers_older_than_versions():
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    for _ in range(3):
        copy[(1,)](Old(x), Old(y), 4)
    assert y.tolist() == x.tolist()


def test_libraries_whose_arrays_never_change():
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    copy[(1,)](Immutable(x), y, 4)
    assert y.tolist() == x.tolist()
    assert "'y' is a TensorFlow array" in error(
        ValueError, lambda: copy[(1,)](x, Immutable(y), 4)
    )


def test_producers_that_lie():
    class Wrong(dl.Producer):
        def __dlpack__(self, **kwargs):
            return 7

    class Raises(dl.Producer):
        def __dlpack__(self, **kwargs):
            raise BufferError("not today")

    x = np.zeros(4, np.float32)
    assert "no DLPack capsule" in unreadable(Wrong(x))
    assert "not today" in unreadable(Raises(x))
    assert "no memory" in unreadable(Versioned(x, address=0))
    empty = Versioned(np.zeros(0, np.float32), address=0)
    copy[(1,)](empty, x, 0)


@pytest.mark.parametrize(
    ("code", "name"), [(8, "Metal"), (14, "oneAPI"), (99, "foreign")]
)
def test_devices_that_kernels_do_not_run_on(code, name):
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    message = error(
        ValueError, lambda: copy[(1,)](Versioned(x, device=(code, 0)), y, 4)
    )
    assert message.startswith(
        f"argument 'x' is on a {name} device (DLPack type {code})"
    )


def test_a_device_only_known_by_its_text():
    class Tensor:
        dtype, device = "float32", "mps:0"

        def data_ptr(self):
            return 64

    assert "device mps:0 is not supported" in unreadable(Tensor())


@pytest.mark.parametrize(
    "make",
    [
        lambda: memoryview(np.ones(4, np.float32)),
        lambda: bytearray(16),
        lambda: (ctypes.c_float * 4)(1, 2, 3, 4),
    ],
)
def test_buffers_are_no_tensors(make):
    y = np.zeros(4, np.float32)
    message = error(TypeError, lambda: copy[(1,)](make(), y, 4))
    assert "numpy.asarray() makes an array of its memory" in message
    array = np.asarray(make()).view(np.float32)
    copy[(1,)](array, y, 4)
    assert y.tolist() == array.tolist()


# --- torch ---------------------------------------------------------------------------
@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_torch_tensors_with_a_history_are_memory_like_any_other(torch):
    x = torch.arange(4.0, requires_grad=True)
    y = torch.zeros(4)
    copy[(1,)](x, y, 4)
    copy[(1,)](torch.nn.Parameter(x), y, 4)
    assert y.tolist() == [0, 1, 2, 3]
    with torch.no_grad():
        copy[(1,)](torch.ones(4), x, 4)
    assert x.tolist() == [1] * 4


def test_torch_views_are_their_memory_in_order(torch):
    x = torch.arange(16.0).reshape(4, 4)
    y = torch.zeros(4)
    copy[(1,)](x[1], y, 4)
    assert y.tolist() == [4, 5, 6, 7]
    copy[(1,)](x.t(), y, 4)  # pointers know no strides: a kernel gets these by itself
    assert y.tolist() == [0, 1, 2, 3]
    copy[(1,)](x[:, 2], y, 1)
    assert y[0] == 2


@pytest.mark.parametrize(
    "view",
    [
        lambda z: z.imag,
        lambda z: z.imag[1:],
        lambda z: z.imag.reshape(2, 2).t(),
        lambda z: z.imag[2],
        lambda z: z.imag[2:3],
        lambda z: z.imag.expand(3, 4),
    ],
)
def test_torch_views_that_turn_the_sign(torch, view):
    z = torch.tensor([1 + 1j, 2 + 2j, 3 + 3j, 4 + 4j])
    x, y = view(z.conj()), torch.zeros(64)
    assert x.is_neg()
    assert "resolve_neg" in unreadable(x)
    assert "'y'" in error(TypeError, lambda: copy[(1,)](y, x, 1))
    assert z.imag.tolist() == [1, 2, 3, 4]
    copy[(1,)](x.resolve_neg().contiguous(), y, x.numel())
    assert y[: x.numel()].tolist() == x.flatten().tolist()
    copy[(1,)](view(z), y, 1)
    assert y[0] == view(z).flatten()[0]


def test_torch_tensors_without_memory_of_their_own(torch):
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(4)
    assert "no memory" in unreadable(fake)
    assert "storage" in unreadable(torch.eye(4).to_sparse())
    assert "x.crow_indices()" in unreadable(torch.eye(4).to_sparse_csr())
    parts = [torch.ones(3), torch.ones(5)]
    jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
    assert "x.values()" in unreadable(jagged)
    if torch.backends.mkldnn.is_available():
        assert "x.to_dense()" in unreadable(torch.eye(4).to_mkldnn())

    class Sharded(torch.Tensor):  # as a DTensor
        __new__ = staticmethod(lambda cls: cls._make_wrapper_subclass(cls, (4,)))
        __torch_dispatch__ = classmethod(lambda *_: None)

        def to_local(self):
            return torch.zeros(4)

    assert "x.to_local()" in unreadable(Sharded())
    assert "meta" in unreadable(torch.zeros(4, device="meta"))
    assert "not supported" in unreadable(torch.zeros(4, dtype=torch.complex64).conj())
    seen = []
    torch.vmap(lambda x: seen.append(unreadable(x)) or x)(torch.zeros(2, 4))
    assert "tegula.torch.custom_op" in seen[0]
    copy[(1,)](torch.zeros(0), torch.zeros(0), 0)  # empty: no memory, and none is used


# ---- descriptors of all of an array --------------------------------------------------


@tegula.jit
def double_tile(x, y):
    at = [tl.program_id(0) * 8, tl.program_id(1) * 8]
    y.store(at, x.load(at) * 2)


class Bare:
    """An array that says nothing but DLPack."""

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.shape, self.dtype = x, x.shape, x.dtype

    def __dlpack__(self, **kwargs):
        return self.x.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


class Rows:
    """An array of rows without gaps, as CuPy and JAX say it of theirs on a GPU."""

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.shape, self.dtype = x, x.shape, x.dtype
        at, _ = x.__array_interface__["data"]
        self.__cuda_array_interface__ = {"data": (at, False), "strides": None}


def numpy_slice() -> np.ndarray:
    return np.arange(24.0 * 32, dtype=np.float32).reshape(24, 32)[4:20, 8:24]


@pytest.mark.parametrize("target", ["cpu", "emu:sm_90a", "interpret"])
@pytest.mark.parametrize("library", ["numpy", "dlpack", "jax"])
def test_descriptors_of_arrays(target, library):
    want = numpy_slice() * 2
    x = numpy_slice()
    if library == "dlpack":
        x = Bare(x)
    if library == "jax":
        x = pytest.importorskip("jax.numpy").asarray(np.ascontiguousarray(x))
    y = np.zeros((16, 48), np.float32)
    desc = TensorDescriptor.from_tensor(x, [8, 8])
    assert list(desc.shape) == [16, 16]
    assert list(desc.strides) == ([16, 1] if library == "jax" else [32, 1])
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.interpret = target == "interpret"
        tegula.knobs.runtime.target = "cpu" if target == "interpret" else target
        double_tile[(2, 2)](desc, TensorDescriptor.from_tensor(y[:, 16:], [8, 8]))
    assert np.array_equal(y[:, 16:32], want)
    assert not y[:, :16].any() and not y[:, 32:].any()


def test_descriptors_of_arrays_are_checked():
    whole = np.zeros((4, 4, 8), np.float32)
    rows = TensorDescriptor.from_tensor(Rows(whole), [1, 4, 8])
    assert list(rows.strides) == [32, 8, 1]
    with pytest.raises(AssertionError, match="16"):
        TensorDescriptor.from_tensor(whole.ravel()[1:], [8])
    with pytest.raises(AssertionError, match="16"):
        TensorDescriptor.from_tensor(Rows(whole.ravel()[1:]), [8])
    with pytest.raises(AssertionError, match="last side"):
        TensorDescriptor.from_tensor(whole[0, :, ::2], [4, 4])
    parts = np.zeros(4, np.dtype([("a", "f8"), ("b", "f4")]))
    with pytest.raises(ValueError, match="split"):
        TensorDescriptor.from_tensor(parts["a"], [4])
    with pytest.raises(TypeError, match="no tensor"):
        TensorDescriptor([1.0], [1], [1], [1])
