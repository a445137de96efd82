"""What the kernel is compiled for."""

from __future__ import annotations

from typing import Any

from tegula.constexprs import constexpr_function

from .builtin import builtin, outside


def _host_target() -> Any:
    """The machine that kernels run on now. A kernel is answered for the target that it is
    compiled for; the host, which may ask as well, for this one."""
    from tegula.compat import driver

    active: Any = driver.active
    return active.get_current_target()


@builtin
def is_cuda() -> bool:
    """Is the target a GPU of NVIDIA's, or its emulator?

    Types:  a constant bool.
    Errors: none.

    >>> tl.target_info.is_cuda()
    int1: 0
    """
    return bool(_host_target().backend == "cuda")


@builtin
def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """Is the target's architecture at least major.minor? False on the CPU.

    Types:  a constant bool.
    Errors: none.

    >>> tl.target_info.cuda_capability_geq(9, 0)
    int1: 0
    """
    target = _host_target()
    return bool(target.backend == "cuda" and target.arch >= 10 * major + minor)


@builtin
def is_ptx() -> bool:
    """Is PTX made for a GPU? False on the CPU and in the interpreter, whose
    ``inline_asm_elementwise`` has no instructions in which lanes meet, and on the
    emulator, whose lacks ``wgmma`` and copies of tensors.

    Types:  a constant bool.
    Errors: none.

    >>> tl.target_info.is_ptx()
    int1: 0
    """
    return outside()


@constexpr_function
def is_hip() -> bool:
    """Always false: no AMD target exists.

    Types:  a constant bool.
    Errors: none.

    >>> tl.target_info.is_hip()
    int1: 0
    """
    return False


@constexpr_function
def is_hip_cdna3() -> bool:
    """Always false: no AMD target exists.

    Types:  a constant bool.
    Errors: none.

    >>> tl.target_info.is_hip_cdna3()
    int1: 0
    """
    return False


@constexpr_function
def is_hip_cdna4() -> bool:
    """Always false: no AMD target exists.

    Types:  a constant bool.
    Errors: none.

    >>> tl.target_info.is_hip_cdna4()
    int1: 0
    """
    return False


@constexpr_function
def is_hip_gfx1250() -> bool:
    """Always false: no AMD target exists.

    Types:  a constant bool.
    Errors: none.

    >>> tl.target_info.is_hip_gfx1250()
    int1: 0
    """
    return False


def __getattr__(name: str) -> Any:
    if name == "current_target":  # of the host alone
        return _host_target
    from tegula.compat.later import find

    return find(__name__, name)
