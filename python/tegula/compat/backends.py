"""Targets as Triton's libraries name them: ``GPUTarget("cuda", 90, 32)``.

Ours are texts, ``cuda:sm_90a``; the two directions of the translation stand here.
"""

from __future__ import annotations

import enum
import platform
import sys
from dataclasses import dataclass
from typing import Any

__path__: list[str] = []  # Triton has a package here: see tegula.compat


@dataclass(frozen=True)
class GPUTarget:
    """What to compile for. backend: "cuda", "emu" or "cpu"; arch: 90 for sm_90."""

    backend: str
    arch: int | str
    warp_size: int

    @property
    def text(self) -> str:
        """``cuda:sm_90a``, as ``kernel.compile(target=...)`` takes it."""
        if self.backend == "cpu":
            return "cpu"
        if self.backend not in ("cuda", "emu"):
            raise ValueError(
                f"tegula compiles for cuda, emu and cpu, not {self.backend}"
            )
        sm = int(self.arch)
        # From Hopper on the features behind the 'a' are what kernels are written for.
        return f"{self.backend}:sm_{sm}{'a' if sm >= 90 else ''}"


def target_of(text: str) -> GPUTarget:
    """The GPUTarget of ``cuda:sm_90a``, ``emu:sm_80`` or ``cpu``."""
    kind, _, arch = text.partition(":")
    if kind == "cpu":
        return GPUTarget("cpu", platform.machine(), 1)
    return GPUTarget(kind, int(arch.removeprefix("sm_").rstrip("a") or 80), 32)


@dataclass(frozen=True)
class CUDAOptions:
    """The options of a compile as one object, for ``compiler.compile(options=..)``, with
    Triton's names, order and defaults. None is what the target has."""

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 32
    maxnreg: int | None = None
    ptx_version: int | None = None
    ptx_options: str | None = None
    hopper: str | None = None
    abi: str | None = None
    persistent: str | None = None
    multicast: str | None = None
    split_k: str | None = None
    ir_override: str | None = None
    enable_fp_fusion: bool = True
    enable_reflect_ftz: bool = True
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    supported_fp8_dtypes: tuple[str, ...] | None = None
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] | None = None
    default_dot_input_precision: str | None = None
    allowed_dot_input_precisions: tuple[str, ...] | None = None
    max_num_imprecise_acc_default: int | None = None
    extern_libs: dict[str, str] | None = None
    debug: bool = False
    backend_name: str = "cuda"
    sanitize_overflow: bool = True
    arch: str | None = None
    instrumentation_mode: str = ""
    sched4reg: bool = False
    clc: bool = False
    min_shared_mem: int = 0
    fpsan_homomorphic_casts: bool = False

    def __post_init__(self) -> None:
        n = self.num_warps
        assert n > 0 and not n & (n - 1), f"num_warps must be a power of 2, not {n}"

    def hash(self) -> str:
        """A digest of all of them, libraries by what is in their files."""
        import hashlib

        def content(path: str) -> str:
            with open(path, "rb") as f:
                return hashlib.sha256(f.read()).hexdigest()

        given = dict(vars(self))
        libs = sorted(dict(self.extern_libs or {}).items())
        given["extern_libs"] = [(name, content(path)) for name, path in libs]
        text = "_".join(f"{name}-{value}" for name, value in sorted(given.items()))
        return hashlib.sha256(text.encode()).hexdigest()


class Language(enum.Enum):
    """What a kernel is written in; here it is always the first."""

    TRITON = 0
    GLUON = 1


class Stage(str):
    """A stage's text, with the variant that it is of."""

    compiled: Any

    def dump(self) -> None:
        """Write it to standard error."""
        print(self, file=sys.stderr)


def _stage(source: Any, name: str) -> Stage:
    """A stage of the variant that another stage, or a module, is of."""
    text = Stage(source.compiled.asm[name])
    text.compiled = source.compiled
    return text


class BaseBackend:
    """A way to compile for a target; made by ``compiler.make_backend``."""

    def __init__(self, target: GPUTarget) -> None:
        self.target = target
        self.binary_ext = {"cpu": "obj", "emu": "obj"}.get(target.backend, "cubin")

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend in ("cuda", "emu", "cpu")

    def hash(self) -> str:
        from tegula import __version__

        return f"tegula-{__version__}-{self.target.text}"

    def parse_options(self, opts: dict[str, Any]) -> CUDAOptions:
        """The options of a launch as one object; what is none is left out."""
        names = CUDAOptions.__dataclass_fields__
        given = {k: v for k, v in opts.items() if k in names and v is not None}
        if self.target.backend != "cpu":
            given.setdefault("arch", f"sm{self.target.arch}")
        else:
            given.setdefault("backend_name", "cpu")
        return CUDAOptions(**given)

    def pack_metadata(self, metadata: Any) -> tuple[int, int, int]:
        """What a launcher wants of it."""
        return metadata.num_warps, metadata.num_ctas, metadata.shared

    def get_module_map(self) -> dict[str, Any]:
        """What stands for a module that a kernel names."""
        from tegula.language.extra import libdevice

        return {"triton.language.extra.libdevice": libdevice}

    def load_dialects(self, context: Any) -> None:
        """Nothing to load: the IR is not MLIR."""

    def get_codegen_implementation(self, options: Any = None) -> dict[str, Any]:
        """What of the front end depends on the target: nothing, the core knows itself."""
        return {}

    # What programs that launch by themselves call one after the other. The first module
    # (ASTSource.make_ir) is of a variant that was compiled to the end: these show it.
    @staticmethod
    def make_ttir(mod: Any, metadata: dict[str, Any], opt: Any, capability: int) -> Any:
        """Tile IR: the module as it is."""
        return mod

    @staticmethod
    def make_ttgir(
        mod: Any, metadata: dict[str, Any], opt: Any, capability: int
    ) -> Stage:
        """Tile IR with layouts."""
        return _stage(mod, "simt")

    def make_llir(
        self, src: Any, metadata: dict[str, Any], options: Any, capability: int
    ) -> Stage:
        """LLVM IR; metadata gets what a launcher has to know."""
        metadata.update(src.compiled.metadata._asdict())
        return _stage(src, "llir")

    def make_ptx(
        self, src: Any, metadata: dict[str, Any], opt: Any, capability: int
    ) -> Stage:
        """PTX: an entry with a parameter for each argument that is no constant."""
        return _stage(src, "ptx")

    def make_cubin(
        self, src: Any, metadata: dict[str, Any], opt: Any, capability: int
    ) -> bytes:
        """Machine code. It is made where there is ptxas."""
        if "cubin" not in src.compiled.asm:
            raise RuntimeError("there is no ptxas: set TEGULA_PTXAS")
        return bytes(src.compiled.asm["cubin"])

    @staticmethod
    def parse_attr(desc: str) -> list[list[Any]]:
        """The attributes that a letter of a specialisation stands for."""
        return [["tt.divisibility", 16]] if "D" in desc else []

    @staticmethod
    def get_int_specialization(arg: int, **kwargs: Any) -> str:
        """ "D" where 16 divides it and that may be told."""
        return "D" if arg % 16 == 0 and kwargs.get("align", False) else ""

    @staticmethod
    def get_tensor_specialization(arg: Any, **kwargs: Any) -> str:
        """ "D" where 16 divides its address and that may be told."""
        return "D" if arg.data_ptr() % 16 == 0 and kwargs.get("align", False) else ""

    @staticmethod
    def supports_native_tensor_specialization() -> bool:
        return True


@dataclass(frozen=True)
class Backend:
    """One row of ``backends``: the classes that compile for it and that run on it."""

    compiler: type[BaseBackend]
    driver: type[Any]


def __getattr__(name: str) -> Any:
    if name == "backends":
        from tegula.compat import driver

        return {
            "nvidia": Backend(BaseBackend, driver.CudaDriver),
            "cpu": Backend(BaseBackend, driver.CpuDriver),
        }
    if name in ("compiler", "driver"):  # Triton's modules, which stay in tegula
        import importlib

        return importlib.import_module(
            {"compiler": __name__}.get(name, f"tegula.{name}")
        )
    if name == "DriverBase":
        from tegula.compat import driver

        return driver.Driver
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
