"""Who runs a kernel: Triton or Tegula, on a GPU (torch's tensors) or on build/libptxsim.so.

A process is one side for good: `import triton` is either the package or Tegula.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from case import KERNEL_NAMES, Array, Case, Constant, Descriptor, Scalar

TESTS = Path(__file__).parents[1]
CHIP = "sm_90a"  # of the simulated GPU


class Side(Protocol):
    def check(self, kernel: Any, case: Case) -> None:
        """Raise what the front end has against it."""
        ...

    def sound(self) -> None:
        """End the process where nothing can be launched any more."""
        ...

    def run(self, kernel: Any, case: Case, room: int, slots: int) -> list[np.ndarray]:
        """Memory after a launch: of the case's arrays, of the results, of their types."""
        ...


def memory(case: Case, room: int, slots: int) -> list[tuple[np.ndarray, str]]:
    arrays = [(case.elements(a), a.dtype) for a in case.args if isinstance(a, Array)]
    return [
        *arrays,
        (np.zeros(max(room, 1), np.uint8), "uint8"),
        (np.zeros(max(slots, 1), np.int64), "int64"),
    ]


def arguments(case: Case, there: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The launch's arguments, in order."""
    arrays = iter(there)
    words = [next(arrays) if isinstance(a, Array) else a.value for a in case.args]
    return [*words, *arrays], {"num_warps": case.warps, **case.options}


class Fault(Exception):
    """What the simulated GPU is not given: nobody's refusal."""


def simple(case: Case) -> None:
    if any(isinstance(a, Descriptor) for a in case.args):
        raise Fault("descriptors of the host are for torch")


class WithTorch:
    """torch's tensors; whose kernels these are depends on who `triton` is."""

    def __init__(self, device: str, front: Side | None) -> None:
        import torch

        self.torch, self.device, self.front = torch, device, front

    def check(self, kernel: Any, case: Case) -> None:
        if self.front:
            self.front.check(kernel, case)
        else:
            self.run(kernel, case, case.room * case.slots, case.slots)

    def sound(self) -> None:
        try:
            self.torch.ones(1, device=self.device).item()
        except Exception:
            os._exit(3)

    def tensor(self, x: np.ndarray, dtype: str) -> Any:
        name = {
            "int1": "bool",
            "float8e4nv": "float8_e4m3fn",
            "float8e5": "float8_e5m2",
        }.get(dtype, dtype)
        raw = self.torch.from_numpy(np.ascontiguousarray(x).view(np.uint8)).to(
            self.device
        )
        return raw.view(getattr(self.torch, name))

    def described(self, case: Case, args: list[Any]) -> list[Any]:
        """The arguments, with descriptors where the case wants one of the host's."""
        import triton
        from triton.tools.tensor_descriptor import TensorDescriptor

        def scratch(size: int, align: int, stream: Any) -> Any:
            return self.torch.empty(size, dtype=self.torch.int8, device=self.device)

        triton.set_allocator(scratch)  # of descriptors that kernels make
        for i, a in enumerate(case.args):
            if isinstance(a, Descriptor):
                strides = [int(np.prod(a.shape[k + 1 :])) for k in range(len(a.shape))]
                args[i] = TensorDescriptor(
                    args[i], list(a.shape), strides, list(a.block), padding=a.pad
                )
        return args

    def run(self, kernel: Any, case: Case, room: int, slots: int) -> list[np.ndarray]:
        host = memory(case, room, slots)
        there = [self.tensor(x, dtype) for x, dtype in host]
        args, options = arguments(case, there)
        kernel[(case.grid // case.rows, case.rows)](
            *self.described(case, args), **options
        )
        if self.device == "cuda":
            self.torch.cuda.synchronize()
        raw = [x.view(self.torch.uint8).cpu().numpy() for x in there]
        return [r.view(x.dtype) for r, (x, _) in zip(raw, host, strict=True)]


class Tegula:
    """Tegula's launches on the simulated GPU."""

    def __init__(self) -> None:
        sys.path.insert(0, str(TESTS / "ptxsim"))
        import simulated

        import tegula

        self.simulated = simulated
        simulated.start()
        tegula.knobs.nvidia.ptxas = "none"

    def sound(self) -> None:
        pass

    def check(self, kernel: Any, case: Case) -> None:
        self.run(kernel, case, case.room * case.slots, case.slots)

    def run(self, kernel: Any, case: Case, room: int, slots: int) -> list[np.ndarray]:
        simple(case)
        there = []
        for x, dtype in memory(case, room, slots):
            there.append(self.simulated.put(x, CHIP))
            there[-1].dtype = dtype if dtype != "int1" else "bool"
        args, options = arguments(case, there)
        kernel[(case.grid // case.rows, case.rows)](*args, **options)
        return [t.numpy() for t in there]


class TritonPtx:
    """Triton's compiler without a GPU; its PTX on the simulated one."""

    def __init__(self) -> None:
        sys.path.insert(0, str(TESTS / "ptxsim"))
        import simulated
        from triton._C.libtriton import ir
        from triton.backends.compiler import GPUTarget
        from triton.compiler.compiler import ASTSource, make_backend

        self.simulated, self.ir, self.source = simulated, ir, ASTSource
        self.target = GPUTarget("cuda", 90, 32)
        self.backend = make_backend(self.target)

    def sound(self) -> None:
        pass

    def front(self, kernel: Any, case: Case) -> tuple[Any, Any, Any]:
        """Triton's IR as its front end leaves it."""
        types: dict[str, str] = {}
        constants: dict[tuple, Any] = {}
        aligned: dict[tuple, Any] = {}
        for i, a in enumerate(case.args):
            types[a.name] = signature(a)
            if not isinstance(a, Array) and types[a.name] == "constexpr":
                constants[(i,)] = a.value
            elif isinstance(a, Array) or (types[a.name] == "i32" and a.value % 16 == 0):  # type: ignore[operator]
                aligned[(i,)] = [["tt.divisibility", 16]]
        types |= {"o": "*u8", "t": "*i64"}
        for i in (len(case.args), len(case.args) + 1):
            aligned[(i,)] = [["tt.divisibility", 16]]
        context = self.ir.context()
        self.ir.load_dialects(context)
        self.backend.load_dialects(context)
        options = self.backend.parse_options({"num_warps": case.warps, **case.options})
        source = self.source(kernel, types, constants, aligned)
        helpers = self.backend.get_codegen_implementation(options)
        modules = self.backend.get_module_map()
        module = source.make_ir(self.target, options, helpers, modules, context)
        return module, options, source.language

    def check(self, kernel: Any, case: Case) -> None:
        self.front(kernel, case)

    def ptx(self, kernel: Any, case: Case) -> tuple[str, dict[str, Any]]:
        module, options, language = self.front(kernel, case)
        stages: dict[str, Any] = {}
        self.backend.add_stages(stages, options, language)
        metadata = {"hash": "", "target": self.target, **options.__dict__}
        for stage in ("ttir", "ttgir", "llir", "ptx"):
            module = stages[stage](module, metadata)
        return module, metadata

    def run(self, kernel: Any, case: Case, room: int, slots: int) -> list[np.ndarray]:
        simple(case)
        text, metadata = self.ptx(kernel, case)
        if isinstance(text, bytes):
            text = text.decode()
        sim = self.simulated
        there = [sim.put(x, CHIP) for x, _ in memory(case, room, slots)]
        args, _ = arguments(case, there)
        kinds = [signature(a) for a in case.args] + ["*", "*"]
        cells = []
        for value, kind in zip(args, kinds, strict=True):
            if kind.startswith("*"):
                cells.append(ctypes.c_uint64(value.data_ptr()))
            elif kind != "constexpr":
                cells.append(CELLS[kind](value))
        cells += [ctypes.c_uint64(0), ctypes.c_uint64(0)]  # scratch of Triton's

        lib = sim.library()

        def check(error: int) -> None:
            if error:
                raise sim.Fault(error, lib.ptxsim_error().decode())

        library, entry = ctypes.c_void_p(), ctypes.c_void_p()
        none = (None, None, 0, None, None, 0)
        check(lib.cuLibraryLoadData(ctypes.byref(library), text.encode(), *none))
        name = metadata["name"].encode()
        check(lib.cuLibraryGetKernel(ctypes.byref(entry), library, name))
        lib.cuCtxSetCurrent(ctypes.c_void_p(0x1000 + sim.DEVICES[CHIP]))
        params = (ctypes.c_void_p * len(cells))(*map(ctypes.addressof, cells))
        block = (32 * metadata["num_warps"], 1, 1)
        config = sim.Config(
            (case.grid // case.rows, case.rows, 1), block, metadata["shared"]
        )
        try:
            check(lib.cuLaunchKernelEx(ctypes.byref(config), entry, params, None))
        finally:
            lib.cuLibraryUnload(library)
        return [t.numpy() for t in there]


CELLS = {
    "u1": ctypes.c_uint8,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "fp32": ctypes.c_float,
}
POINTEE = {"int1": "i1"} | {
    t: KERNEL_NAMES[t].replace("uint", "u").replace("int", "i")
    for t in KERNEL_NAMES
    if t != "int1"
}


def signature(a: Array | Scalar | Constant) -> str:
    """The type that a launch gives an argument."""
    if isinstance(a, Array):
        return "*" + POINTEE[a.dtype]
    if isinstance(a, Constant) or (type(a.value) is int and a.value == 1):
        return "constexpr"
    if isinstance(a.value, bool):
        return "u1"
    if isinstance(a.value, float):
        return "fp32"
    if -(2**31) <= a.value < 2**31:
        return "i32"
    return "i64" if a.value < 2**63 else "u64"


def make(side: str, device: str) -> Side:
    if device != "sim":
        import torch  # noqa: F401  before anybody is Triton for it
    if side == "tegula":
        import tegula.compat

        tegula.compat.install()
        tegula.knobs.cache.dir = ""
    if device != "sim":
        return WithTorch(device, TritonPtx() if side == "triton" else None)
    return Tegula() if side == "tegula" else TritonPtx()
