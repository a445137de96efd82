"""The machine that kernels run on now: ``driver.active``.

A GPU when CUDA's driver sees one, else the CPU. ``TEGULA_TARGET`` decides when it is set:
with ``emu:sm_90a`` tensors live on the CPU and the machine is the emulated GPU.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

from tegula import _core, knobs
from tegula.compat.backends import GPUTarget, target_of


class Driver:
    """What every machine answers."""

    utils: Any
    torch_device = "cpu"

    @classmethod
    def is_active(cls) -> bool:
        return isinstance(__getattr__("active"), cls)

    def get_current_target(self) -> GPUTarget:
        raise NotImplementedError

    def get_active_torch_device(self) -> Any:
        """The device to put torch's tensors on."""
        import torch

        return torch.device(self.torch_device)

    def get_device_interface(self) -> Any:
        """torch.cpu or torch.cuda."""
        import torch

        return getattr(torch, self.torch_device)

    def get_current_device(self) -> int:
        return 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        """(9, 0) for sm_90; (0, 0) where there is no GPU, nor one that is emulated."""
        target = self.get_current_target()
        return divmod(int(target.arch), 10) if target.backend == "cuda" else (0, 0)

    def set_current_device(self, device: int) -> None:
        if device:
            raise ValueError(f"device {device}: there is only device 0")

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    @property
    def launcher_cls(self) -> type[Launcher]:
        return Launcher

    def get_benchmarker(self) -> Callable[..., Any]:
        """The clock of autotuners: ``f(call, quantiles=...)`` in milliseconds."""
        from tegula import testing

        return functools.partial(testing.do_bench, device=self.torch_device)

    def get_empty_cache_for_benchmark(self) -> Any:
        """A buffer larger than the caches, for ``clear_cache``."""
        import torch

        device = self.get_active_torch_device()
        with torch.inference_mode(False):  # whoever clears it later may be in none
            return torch.empty((256 << 20) // 4, dtype=torch.int32, device=device)

    def clear_cache(self, cache: Any) -> None:
        cache.zero_()

    def map_python_to_cpp_type(self, ty: str) -> str:
        """The C type of a kernel's parameter: "i32" is int32_t."""
        if ty.startswith("*"):
            return "void *"
        return _C_TYPES[ty]


_C_TYPES = {
    f"{s}{n}": f"{t}{n}_t"
    for s, t in (("i", "int"), ("u", "uint"))
    for n in (8, 16, 32, 64)
}
_C_TYPES |= {"i1": "int8_t", "u1": "uint8_t", "fp64": "double"}
_C_TYPES |= {"fp16": "float", "bf16": "float", "fp32": "float", "f32": "float"}


DriverBase = GPUDriver = Driver  # Triton's names


class Launcher:
    """``driver.active.launcher_cls(src, metadata)``: what runs a compiled kernel,
    called with the grid, a stream, and every argument, as ``compiled.run`` is."""

    def __init__(self, src: Any, metadata: Any) -> None:
        from tegula.compat import compiler

        options = {
            name: getattr(metadata, name)
            for name in ("num_warps", "num_stages", "num_ctas", "maxnreg")
        }
        self._compiled = compiler.compile(src, metadata.target, options)

    def __call__(self, *args: Any) -> None:
        self._compiled.run(*args)


class Utils:
    """``driver.active.utils``: what the machine is, and Triton's way to its driver.

    Without a GPU there is no driver: all but ``get_device_properties`` is a RuntimeError.
    """

    machine = "this machine"

    def get_device_properties(self, device_id: int = 0) -> dict[str, int]:
        """max_shared_mem, max_num_regs, multiprocessor_count, warpSize; the clocks in kHz
        and the width of the memory's bus in bits."""
        raise NotImplementedError

    def load_binary(
        self, name: str, data: bytes, shared: int, device: int
    ) -> tuple[int, int, int, int, int]:
        """Load a cubin or PTX: (module, function, registers, spilled words, most threads
        of a block). ``function`` may have ``shared`` bytes of shared memory."""
        raise self._refused("load_binary")

    def unload_module(self, module: int) -> None:
        """The end of what ``load_binary`` loaded."""
        raise self._refused("unload_module")

    def cuOccupancyMaxActiveClusters(
        self, function: int, shared: int, cluster_dim: int
    ) -> int:
        """How many clusters of that many blocks, with 128 threads each, run at once."""
        raise self._refused("cuOccupancyMaxActiveClusters")

    def set_printf_fifo_size(self, size: int) -> None:
        """Bytes that what kernels print may take until it is read; to be set ahead of the
        first launch of a kernel that prints."""
        raise self._refused("set_printf_fifo_size")

    def fill_tma_descriptor(
        self,
        global_address: int,
        swizzle: int,
        elem_size: int,
        elem_type: int,
        block_size: Sequence[int],
        shape: Sequence[int],
        strides: Sequence[int],
        padding: int,
    ) -> PyCUtensorMap:
        """A tensor map. Outermost dim first, strides in elements; swizzle and elem_type are
        the driver's enums, padding 1: NaN outside."""
        raise self._refused("fill_tma_descriptor")

    def fill_tma_descriptor_tiled(self, *args: Any) -> PyCUtensorMap:
        """``fill_tma_descriptor``, as Triton calls it from 3.7 on."""
        return self.fill_tma_descriptor(*args)

    def _refused(self, name: str) -> RuntimeError:
        return RuntimeError(
            f"{name} asks CUDA's driver, and driver.active is {self.machine}"
        )


class PyCUtensorMap:
    """A tensor map: 128 bytes at an address that is a multiple of 128."""

    def __init__(self, data: bytes = b"") -> None:
        import ctypes

        self._memory = ctypes.create_string_buffer(256)
        self._address = (ctypes.addressof(self._memory) + 127) & -128
        ctypes.memmove(self._address, bytes(data).ljust(128, b"\0"), 128)

    def tma_desc_cpu_ptr(self) -> int:
        """Where it is, in memory of the host."""
        return self._address

    def __bytes__(self) -> bytes:
        import ctypes

        return ctypes.string_at(self._address, 128)


class CpuUtils(Utils):
    """Numbers of the CPU under the names of a GPU's: a core is a multiprocessor."""

    machine = "the CPU"

    def get_device_properties(self, device_id: int = 0) -> dict[str, int]:
        return {
            "max_shared_mem": 1 << 20,  # what one program may keep in a core's L2 cache
            "max_num_regs": 1 << 16,
            "multiprocessor_count": len(os.sched_getaffinity(0)),
            "warpSize": 1,
            "sm_clock_rate": 0,
            "mem_clock_rate": 0,
            "mem_bus_width": 0,
        }


class CpuDriver(Driver):
    """The CPU, all of its cores."""

    def __init__(self) -> None:
        self.utils = CpuUtils()

    def get_current_target(self) -> GPUTarget:
        return target_of("cpu")


class EmuUtils(Utils):
    """Numbers of the GPU that is emulated."""

    machine = "the emulator"

    def __init__(self, sm: int) -> None:
        self._sm = sm

    def get_device_properties(self, device_id: int = 0) -> dict[str, int]:
        return {
            "max_shared_mem": _core._chip(self._sm)["shared"],
            "max_num_regs": 65536,
            "multiprocessor_count": 4,
            "warpSize": 32,
            "sm_clock_rate": 0,
            "mem_clock_rate": 0,
            "mem_bus_width": 0,
        }


class EmuDriver(Driver):
    """A GPU in software. Its tensors are the CPU's."""

    def __init__(self, text: str) -> None:
        self._target = target_of(text)
        self.utils = EmuUtils(int(self._target.arch))

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self._target.arch, 32)


class CudaUtils(Utils):
    """Numbers of a GPU, and the driver's functions."""

    machine = "a GPU"

    def get_device_properties(self, device_id: int = 0) -> dict[str, int]:
        row = dict(_core.cuda_devices()[device_id or 0])
        del row["name"], row["sm"]
        return row

    def load_binary(
        self, name: str, data: bytes, shared: int, device: int
    ) -> tuple[int, int, int, int, int]:
        return _core._cuda_load_binary(name, data, shared, device)

    def unload_module(self, module: int) -> None:
        _core._cuda_unload_binary(module)

    def cuOccupancyMaxActiveClusters(
        self, function: int, shared: int, cluster_dim: int
    ) -> int:
        return _core._cuda_count_clusters(function, shared, cluster_dim)

    def set_printf_fifo_size(self, size: int) -> None:
        _core._cuda_printf_size(size)

    def fill_tma_descriptor(
        self,
        global_address: int,
        swizzle: int,
        elem_size: int,
        elem_type: int,
        block_size: Sequence[int],
        shape: Sequence[int],
        strides: Sequence[int],
        padding: int,
    ) -> PyCUtensorMap:
        return PyCUtensorMap(
            _core._cuda_fill_tma(
                global_address,
                swizzle,
                elem_size,
                elem_type,
                block_size,
                shape,
                strides,
                padding,
            )
        )


class CudaDriver(Driver):
    """NVIDIA's GPUs. The current device and stream are torch's; the device is the first one
    where torch is missing or has no GPU."""

    torch_device = "cuda"

    def __init__(self) -> None:
        self.utils = CudaUtils()

    def get_current_device(self) -> int:
        try:
            import torch
        except ImportError:
            return 0
        return torch.cuda.current_device() if torch.cuda.is_available() else 0

    def set_current_device(self, device: int) -> None:
        import torch

        torch.cuda.set_device(device)

    def get_current_stream(self, device: int | None = None) -> int:
        import torch

        return int(torch.cuda.current_stream(device).cuda_stream)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", self.get_current_device())

    def get_current_target(self) -> GPUTarget:
        device = self.get_current_device() if len(cuda_devices()) > 1 else 0
        return GPUTarget("cuda", cuda_devices()[device]["sm"], 32)


@functools.cache
def cuda_devices() -> list[dict[str, Any]]:
    """One dict for each GPU; none without a driver."""
    try:
        return _core.cuda_devices()
    except RuntimeError:
        return []


@functools.cache
def _machine(text: str) -> Driver:
    if text.startswith("emu"):
        return EmuDriver(text)
    return CudaDriver() if text.startswith("cuda") else CpuDriver()


# What was chosen, if anything. Programs written for Triton read and set these two.
_active: Driver | None = None
_default: Driver | None = None


def set_active(driver: Driver) -> None:
    """Make ``driver.active`` this one."""
    global _active
    _active = driver
    _core.configure(driver=None)  # launches without tensors ask is_cuda() again


def reset_active() -> None:
    """Make ``driver.active`` the default again."""
    global _active
    _active = None
    _core.configure(driver=None)


def is_cuda() -> bool:
    """Do launches that have no tensor run on a GPU? ``driver.active`` says so."""
    active = __getattr__("active")
    return bool(getattr(active, "torch_device", "cuda") == "cuda")


set_active_to_default = reset_active


def __getattr__(name: str) -> Any:
    if name == "default":
        text = knobs.runtime.target or ("cuda" if cuda_devices() else "cpu")
        return _default or _machine(text)
    if name == "active":
        return _active or __getattr__("default")
    if name == "driver":  # Triton has both a module and an object of this name
        import sys

        return sys.modules[__name__]
    from tegula.compat.later import find

    return find(__name__, name)
