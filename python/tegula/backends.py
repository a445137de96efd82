"""Targets as Triton's libraries name them: ``GPUTarget("cuda", 90, 32)``.

Ours are texts, ``cuda:sm_90a``; the two directions of the translation stand here.
"""

from __future__ import annotations

import platform
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


class Language:
    """What a kernel is written in. There is one."""

    TRITON = 0


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

    def parse_options(self, options: dict[str, Any]) -> dict[str, Any]:
        return dict(options)


@dataclass(frozen=True)
class Backend:
    """One row of ``backends``: the classes that compile for it and that run on it."""

    compiler: type[BaseBackend]
    driver: type[Any]


def __getattr__(name: str) -> Any:
    if name == "backends":
        from tegula import driver

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
        from tegula import driver

        return driver.Driver
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
