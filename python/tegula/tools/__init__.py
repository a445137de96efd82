"""Helpers beside the compiler. ``tegula.tools.NAME`` imports itself when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tegula.tools import build_extern as build_extern
    from tegula.tools import compile as compile
    from tegula.tools import disasm as disasm
    from tegula.tools import linear_layout as linear_layout
    from tegula.tools import link as link
    from tegula.tools import mxfp as mxfp
    from tegula.tools import ragged_tma as ragged_tma
    from tegula.tools import tensor_descriptor as tensor_descriptor
    from tegula.tools.linear_layout import LinearLayout as LinearLayout
else:
    _MODULES = (
        "build_extern",
        "compile",
        "disasm",
        "gsan",
        "linear_layout",
        "link",
        "mxfp",
        "ragged_tma",
        "tensor_descriptor",
    )

    def __getattr__(name: str) -> object:
        import importlib

        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        from tegula.compat.later import find

        return find(__name__, name)
