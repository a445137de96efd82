"""A GPU without a GPU: tensors for build/libptxsim.so, which interprets PTX.
Where there is a GPU, ``launched`` takes the same tensors there.

``start()`` makes the library tegula's driver, once a process. A device of it is an
architecture; ``put(array, "sm_80")`` is a tensor there whose memory is a NumPy array, and
``.numpy()`` is that array. Memory that is not put is no kernel's to touch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tegula
from tegula.tools.tensor_descriptor import TensorDescriptor

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "build" / "libptxsim.so"
DEVICES = {"sm_80": 0, "sm_90a": 1, "sm_75": 2, "sm_89": 3, "sm_100a": 4, "sm_120a": 5}


@cache
def gpu() -> bool:
    """There is a driver of CUDA: then kernels run there, and nothing is simulated."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@cache
def available() -> bool:
    """The library is built, or can be, and nobody has opened another driver."""
    if gpu() or tegula.knobs.nvidia.libcuda not in (None, str(LIBRARY)):
        return False
    return LIBRARY.exists()


def start() -> ctypes.CDLL:
    """The library, as tegula's driver from now on."""
    tegula.knobs.nvidia.libcuda = str(LIBRARY)
    return library()


@contextmanager
def driver() -> Iterator[ctypes.CDLL]:
    """Launches find their tensors' devices here, and PTX is nobody's to assemble."""
    with tegula.knobs.runtime.scope(), tegula.knobs.nvidia.scope():
        tegula.knobs.runtime.target = None
        tegula.knobs.nvidia.ptxas = "none"
        yield start()


@cache
def library() -> ctypes.CDLL:
    lib = ctypes.CDLL(str(LIBRARY))
    lib.ptxsim_register.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    lib.ptxsim_unregister.argtypes = [ctypes.c_void_p]
    lib.ptxsim_error.restype = ctypes.c_char_p
    lib.ptxsim_keep.argtypes = [ctypes.c_uint32]
    lib.ptxsim_again.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64]
    return lib


class Tensor:
    """As much of torch.Tensor as a launch asks for."""

    def __init__(self, array: np.ndarray, target: str, of: Tensor | None = None):
        self.lib = start() if not gpu() else None
        self.array = array
        self.of = of  # whose memory it is
        self.target = target
        self.dtype = str(array.dtype)
        self.device = f"cuda:{DEVICES[target]}"
        self.shape = array.shape
        self.base = array.ctypes.data if array.nbytes and not of else None
        if self.lib and self.base:
            assert array.flags.c_contiguous
            assert self.lib.ptxsim_register(self.base, array.nbytes)

    def __del__(self) -> None:
        if getattr(self, "base", None) and self.lib:
            self.lib.ptxsim_unregister(self.base)

    def __getitem__(self, at: Any) -> Tensor:
        return Tensor(self.array[at], self.target, self.of or self)

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def stride(self, dim: int | None = None) -> Any:
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return strides if dim is None else strides[dim]

    def dim(self) -> int:
        return self.array.ndim

    def element_size(self) -> int:
        return self.array.itemsize

    def numpy(self) -> np.ndarray:
        return self.array


def put(x: np.ndarray, target: str) -> Tensor:
    """A copy of x as device memory, aligned as cudaMalloc does it."""
    x = np.ascontiguousarray(x)
    room = np.empty(x.nbytes + 256, np.uint8)
    at = -room.ctypes.data % 256
    there = room[at : at + x.nbytes].view(x.dtype).reshape(x.shape)
    there[...] = x
    return Tensor(there, target)


def launched(kernel: Any, grid: Any, *args: Any, **options: Any) -> Any:
    """The kernel's code, after a launch on tensors of this module: where there is a GPU, on
    copies of all the memory that they lie in, which come back."""
    if not gpu():
        with driver():
            return kernel[grid](*args, **options)
    import torch

    tensors = [a.base if isinstance(a, TensorDescriptor) else a for a in args]
    owners = {id(a.of or a): a.of or a for a in tensors if isinstance(a, Tensor)}
    copies = {
        k: torch.from_numpy(x.array.view(np.uint8).ravel()).cuda()
        for k, x in owners.items()
    }

    def there(a: Any) -> Any:
        if isinstance(a, TensorDescriptor):
            return replace(a, base=there(a.base))
        if not isinstance(a, Tensor):
            return a
        owner = a.of or a
        first = a.data_ptr() - owner.data_ptr()
        memory = copies[id(owner)][first : first + a.array.nbytes]
        return memory.view(getattr(torch, a.dtype)).reshape(a.shape)

    code = kernel[grid](*map(there, args), **options)
    for k, x in owners.items():
        x.array.view(np.uint8).ravel()[:] = copies[k].cpu().numpy()
    return code


def again(number: int, ptx: str | None, seed: int) -> str:
    """Why the launch that ptxsim_keep() has numbered is refused, checked, with its warps in
    an order of that seed; empty: it is not. None: the code that it ran."""
    lib = library()
    failed = lib.ptxsim_again(number, ptx and ptx.encode(), seed)
    why = lib.ptxsim_error().decode() if failed else ""
    assert failed >= 0, why
    return why


def launcher(target: str) -> Any:
    """What launches a kernel on arrays, which are changed in place, as PTX for target."""

    def run(kernel: Any, *args: Any, grid: int = 1, **constants: Any) -> None:
        there = [put(a, target) if isinstance(a, np.ndarray) else a for a in args]
        kernel[(grid,)](*there, **constants)
        for a, t in zip(args, there, strict=True):
            if isinstance(a, np.ndarray):
                a[...] = t.numpy()

    return run


# --- PTX of the test's own -----------------------------------------------------------
class Config(ctypes.Structure):
    """CUlaunchConfig"""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attrs", ctypes.c_void_p),
        ("n_attrs", ctypes.c_uint),
    )


class Fault(Exception):
    """What a load or a launch failed with: the number of CUDA's error, and the text."""


def launch(
    ptx: str,
    *arrays: np.ndarray | Tensor,
    target: str = "sm_90a",
    grid: int = 1,
    block: int = 32,
    shared: int = 0,
    maps: tuple[Any, ...] = (),
) -> list[np.ndarray]:
    """The kernel of a module over copies of the arrays, which are given back; tensors are
    taken as they are. maps: the parameters behind them, as tensor_map makes them."""
    lib = library()
    there = [a if isinstance(a, Tensor) else put(a, target) for a in arrays]

    def check(e: int) -> None:
        if e:
            raise Fault(e, lib.ptxsim_error().decode())

    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    name = ptx.split(".entry ")[1].split("(")[0]
    text = ptx.encode()
    none = (None, None, 0, None, None, 0)
    check(lib.cuLibraryLoadData(ctypes.byref(module), text, *none))
    check(lib.cuLibraryGetKernel(ctypes.byref(kernel), module, name.encode()))
    context = ctypes.c_void_p(0x1000 + DEVICES[target])
    lib.cuCtxSetCurrent(context)
    values = [ctypes.c_uint64(t.data_ptr()) for t in there]
    addresses = [*map(ctypes.addressof, values), *map(ctypes.addressof, maps)]
    params = (ctypes.c_void_p * (len(addresses) + 1))(*addresses)
    config = Config((grid, 1, 1), (block, 1, 1), shared)
    try:
        check(lib.cuLaunchKernelEx(ctypes.byref(config), kernel, params, None))
    finally:
        lib.cuLibraryUnload(module)
    return [t.numpy() for t in there]


def tensor_map(
    data_type: int,
    x: Tensor,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    box: tuple[int, ...],
    swizzle: int = 0,
    fill: int = 0,
    address: int = 0,
) -> Any:
    """cuTensorMapEncodeTiled; the innermost dim first, strides in bytes and of the outer
    dims. A Fault where the driver refuses."""
    lib = library()
    n = len(sizes)
    made = (ctypes.c_uint8 * 128)()
    e = lib.cuTensorMapEncodeTiled(
        made,
        data_type,
        n,
        ctypes.c_void_p(address or x.data_ptr()),
        (ctypes.c_uint64 * n)(*sizes),
        (ctypes.c_uint64 * n)(*strides),
        (ctypes.c_uint32 * n)(*box),
        (ctypes.c_uint32 * n)(*(1,) * n),
        0,
        swizzle,
        0,
        fill,
    )
    if e:
        raise Fault(e, lib.ptxsim_error().decode())
    return made


HEAD = """
.version 9.0
.target {target}
.address_size 64
.extern .shared .align 16 .b8 smem[];
.visible .entry k({params})
{{
    .reg .b64 %p<9>, %at<9>;
    .reg .b32 %t;
    mov.u32 %t, %tid.x;
"""


def kernel(body: str, n_params: int, target: str = "sm_90a", n_maps: int = 0) -> str:
    """A module around body: %t is the thread, %p0, %p1, .. the arrays, m0, m1, .. tensor
    maps."""
    params = [f".param .u64 p{i}" for i in range(n_params)]
    params += [f".param .align 64 .b8 m{i}[128]" for i in range(n_maps)]
    head = HEAD.format(target=target, params=", ".join(params))
    loads = "".join(f"    ld.param.u64 %p{i}, [p{i}];\n" for i in range(n_params))
    return f"{head}{loads}{body}\n    ret;\n}}\n"


REGISTER = {"pred": "pred", "8": "b16", "16": "b16", "32": "b32", "64": "b64"}


def bits_of(ptx_type: str) -> int:
    if "x2" in ptx_type:
        return 32
    return int("".join(c for c in ptx_type if c.isdigit()))


def elementwise(
    op: str,
    result: str,
    types: tuple[str, ...],
    *arrays: np.ndarray,
    target: str = "sm_90a",
    before: str = "",
) -> np.ndarray:
    """op of a lane's elements: "add.s32 %d, %a, %b;". Types are PTX's, of the result and of
    each array; predicates come and go as bytes."""
    n = len(types)
    assert arrays[0].size == 32
    lines = [before]
    for name, t in zip("dabc", (result, *types), strict=False):
        bits = 8 if t == "pred" else bits_of(t)
        register = "pred" if t == "pred" else REGISTER[str(bits)]
        lines.append(f".reg .{register} %{name}; .reg .b32 %w{name};")
    for i, (name, t) in enumerate(zip("abc", types, strict=False)):
        bits = 8 if t == "pred" else bits_of(t)
        lines.append(f"mad.wide.u32 %at{i}, %t, {bits // 8}, %p{i};")
        if t == "pred":
            lines.append(f"ld.global.u8 %w{name}, [%at{i}];")
            lines.append(f"setp.ne.b32 %{name}, %w{name}, 0;")
        else:
            lines.append(f"ld.global.b{bits} %{name}, [%at{i}];")
    bits = 8 if result == "pred" else bits_of(result)
    lines += [op, f"mad.wide.u32 %at{n}, %t, {bits // 8}, %p{n};"]
    if result == "pred":
        lines.append(f"selp.b32 %wd, 1, 0, %d; st.global.b8 [%at{n}], %wd;")
    else:
        lines.append(f"st.global.b{bits} [%at{n}], %d;")
    out = np.zeros(32, f"u{bits // 8}")
    text = kernel("\n".join(lines), n + 1, target)
    return launch(text, *arrays, out, target=target)[-1]
