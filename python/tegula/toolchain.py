"""Where NVIDIA's tools are when they were installed as Python packages."""

from __future__ import annotations

import os
from pathlib import Path

from tegula import _core


def in_wheels(name: str) -> str | None:
    """This file below one of the packages `nvidia-*` install into."""
    return _core.find_in_wheels(name)


def find_libdevice() -> str | None:
    """libdevice.10.bc: of the knob, of a wheel, of CUDA_HOME, of the usual place."""
    from tegula import knobs

    chosen = knobs.compilation.libdevice or knobs.nvidia.libdevice_path
    if chosen:
        return str(chosen)
    name = "nvvm/libdevice/libdevice.10.bc"
    found = in_wheels(name)
    for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        path = Path(home or "") / name
        if not found and home and path.is_file():
            found = str(path)
    return found


def find_ptxas() -> str | None:
    """ptxas of the nvidia-cuda-nvcc wheel, if it is there and may be run.

    None leaves the search to ``csrc/ptxas.c``: CUDA_HOME, PATH.
    """
    path = in_wheels("bin/ptxas")
    return path if path and os.access(path, os.X_OK) else None
