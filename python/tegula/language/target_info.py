"""What the kernel is compiled for."""

from __future__ import annotations

from typing import Any

from tegula.constexprs import constexpr_function

from .builtin import builtin, outside


@builtin
def is_cuda(_semantic: Any = None) -> bool:
    """A constant: is the target a GPU of NVIDIA's, or its emulator?"""
    return outside()


@builtin
def cuda_capability_geq(major: int, minor: int = 0, _semantic: Any = None) -> bool:
    """A constant: is the target's architecture at least major.minor? Not on the CPU."""
    return outside()


@constexpr_function
def is_hip() -> bool:
    """Always false: no AMD target exists."""
    return False


@constexpr_function
def is_hip_cdna3() -> bool:
    """Always false: no AMD target exists."""
    return False


@constexpr_function
def is_hip_cdna4() -> bool:
    """Always false: no AMD target exists."""
    return False
