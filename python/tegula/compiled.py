"""What a compiled kernel shows of itself: its stages and its numbers.

``_core.CompiledKernel`` holds the code; its ``asm`` and ``metadata`` are made here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tegula import _core
from tegula.compat.backends import target_of


class Stages(Mapping[str, Any]):
    """``compiled.asm``: tir, simt, llir, ptx, cubin, asm, obj, as far as they exist.

    ``asm["sass"]`` disassembles the cubin when asked, with cuobjdump or nvdisasm.
    Triton's names of the stages work: source and ttir are tir, ttgir is simt, or tir on the
    CPU.
    """

    _TRITON = {"source": "tir", "ttir": "tir", "ttgir": "simt"}

    def __init__(self, compiled: _core.CompiledKernel) -> None:
        self._stages = compiled._stages

    def __getitem__(self, name: str) -> Any:
        if name == "ttgir" and "simt" not in self._stages:
            name = "tir"
        name = self._TRITON.get(name, name)
        if name == "sass" and name not in self._stages and "cubin" in self._stages:
            self._stages["sass"] = disassemble(self._stages["cubin"])
        if name not in self._stages:
            raise KeyError(f"no stage '{name}' here; there are {', '.join(self)}")
        return self._stages[name]

    def __repr__(self) -> str:
        return f"Stages({', '.join(self)})"

    def __iter__(self) -> Iterator[str]:
        return iter(self._stages)

    def __len__(self) -> int:
        return len(self._stages)


def tool(name: str) -> str | None:
    """A program of CUDA's toolkit: in CUDA_HOME or on PATH."""
    places = [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")]
    path = os.pathsep.join([*places, os.environ.get("PATH", "")])
    return shutil.which(name, path=path)


def disassemble(cubin: bytes) -> str:
    """The machine code as text. Needs cuobjdump or nvdisasm on PATH or in CUDA_HOME."""
    for name, options in (("cuobjdump", ["-sass"]), ("nvdisasm", ["-c"])):  # noqa: B007
        program = tool(name)
        if program:
            break
    else:
        raise KeyError("'sass' needs cuobjdump or nvdisasm, and neither is on PATH")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run(
            [program, *options, file.name], capture_output=True, text=True, check=True
        )
    return done.stdout


class Source:
    """``compiled.src``: what a variant was made of.

    fn is the kernel; the kernel's other attributes are found here, too.
    """

    ext = "ttir"

    def __init__(self, compiled: _core.CompiledKernel) -> None:
        self.fn = compiled._kernel
        self.name = compiled.name
        self._hash = compiled.hash

    def hash(self) -> str:
        return self._hash

    def __getattr__(self, name: str) -> Any:
        if name == "fn":  # not there yet: a copy is being made
            raise AttributeError(name)
        return getattr(self.fn, name)


def source(compiled: _core.CompiledKernel) -> Source:
    return Source(compiled)


def stages(compiled: _core.CompiledKernel) -> Stages:
    return Stages(compiled)


def report(compiled: _core.CompiledKernel) -> Any:
    from tegula import kernel_report

    return kernel_report.report(compiled)


def metadata(compiled: _core.CompiledKernel) -> Any:
    """A named tuple: options, shared, scratch, name, hash, target.

    On the CPU, shared is what a program keeps in its core's cache: its scratch arena, at
    least one line, so that programs which divide by it run.
    """
    from tegula.compat import TRITON_VERSION

    facts: dict[str, Any] = {
        "name": compiled.name,
        "hash": compiled.hash,
        "target": target_of(compiled.target),
        "triton_version": TRITON_VERSION,
        **compiled._facts,
        "warp_size": 32,
        # What other kernels of Triton's need: memory of the launch, descriptors made by it.
        "tmem_size": 0,
        "global_scratch_size": 0,
        "global_scratch_align": 1,
        "profile_scratch_size": 0,
        "profile_scratch_align": 1,
        "tensordesc_meta": None,
    }
    if compiled.target == "cpu":
        facts |= {"shared": max(facts["scratch"], 64), "warp_size": 1}
    return namedtuple("KernelMetadata", facts)(**facts)


# --- Triton's launcher, which libraries call themselves -----------------
def packed_metadata(compiled: _core.CompiledKernel) -> tuple[int, int, int]:
    m = compiled.metadata
    return m.num_warps, m.num_ctas, m.shared


def metadata_group(compiled: _core.CompiledKernel) -> dict[str, str]:
    """A name for each stage, and for the metadata: there are no files behind them."""
    name = compiled.name
    return {f"{name}.{s}": f"{name}.{s}" for s in ("json", *compiled.asm)}


def runner(compiled: _core.CompiledKernel) -> Callable[..., None]:
    """``compiled.run``. The handle and the packed metadata say what compiled knows itself.

    What was a constant of the compile is one, whatever args say: Inductor passes
    placeholders. The hooks are called where a launch without them would call those of
    ``knobs``.
    """
    from tegula import knobs  # here, not in run: libraries call that for every launch

    loosely = compiled._loosely

    def run(
        grid_x: int,
        grid_y: int,
        grid_z: int,
        stream: int | None,
        function: Any,
        packed_metadata: Any,
        launch_metadata: Any,
        enter_hook: Callable[..., Any] | None,
        exit_hook: Callable[..., Any] | None,
        *args: Any,
    ) -> None:
        ours = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
        launch = loosely((grid_x, grid_y, grid_z))
        if enter_hook in (None, ours[0]) and exit_hook in (None, ours[1]):
            launch(*args, stream=stream)  # calls ours itself
            return
        if enter_hook:
            enter_hook(launch_metadata)
        launch(*args, stream=stream)
        if exit_hook:
            exit_hook(launch_metadata)

    return run


def launch_metadata(compiled: _core.CompiledKernel) -> Callable[..., Any]:
    """``compiled.launch_metadata``: a LazyDict for the hooks; None while there are none."""

    def describe(grid: Any, stream: int, *args: Any) -> Any:
        from tegula import knobs
        from tegula.compat import hooks

        if not knobs.runtime.launch_enter_hook:
            return None
        arguments = dict(zip(compiled._kernel.arg_names, args, strict=False))
        return hooks.launch_info(compiled, grid, arguments, stream)

    return describe


class Forgetful(dict[Any, Any]):
    """A dict of a kernel's variants whose ``clear()`` makes the kernel forget them."""

    def __init__(self, kernel: Any) -> None:
        super().__init__()
        self._kernel = kernel

    def clear(self) -> None:
        self._kernel._forget()
        super().clear()


class DeviceCaches(Forgetful):
    """``kernel.device_caches``; a device without variants has an empty dict of them."""

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel)
        for i, v in enumerate(kernel.variants):
            for device in self._devices(v):
                self[device][0][v.hash or str(i)] = v

    @staticmethod
    def _devices(v: _core.CompiledKernel) -> list[Any]:
        if not v.target.startswith("cuda"):
            return [v.target]
        from tegula.compat import driver

        # Compiled from types, and not launched yet: for the current one.
        is_there = driver.is_cuda()
        return v._devices or [
            driver.__getattr__("active").get_current_device() * is_there
        ]

    def __missing__(self, device: Any) -> Any:
        from tegula.compat import driver

        if device == 0 and driver.__getattr__("active").torch_device == "cpu":
            others = [k for k in self if k != 0]  # the machine's only device
            return self[others[0] if others else "cpu"]
        self[device] = Forgetful(self._kernel), {}
        return self[device]
