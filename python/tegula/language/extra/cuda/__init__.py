"""What Triton keeps for CUDA alone."""

from __future__ import annotations

from typing import Any

from ...builtin import builtin, outside
from .. import libdevice as libdevice


@builtin
def num_warps(_semantic: Any = None) -> int:
    """A constant: warps of a program."""
    return outside()


@builtin
def num_threads(_semantic: Any = None) -> int:
    """A constant: threads of a program."""
    return outside()
