"""What the kernel is compiled for."""

from __future__ import annotations

from tegula.constexprs import constexpr_function


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
