"""The symbols of CUDA's bitcode, by which extern_elementwise knows these functions."""

from __future__ import annotations

from typing import Any

MODES = ("rn", "rz", "rd", "ru")
OTHER = {
    **{f"{t}{op}_{m}": f"{op}_{m}" for t in "fd" for m in MODES for op in
       ("add", "sub", "mul", "div", "rcp", "sqrt")},
    **{f"fmaf_{m}": f"fma_{m}" for m in MODES},
    **{f"{name}ll": name for name in ("brev", "clz", "popc", "ffs")},
    **{f"{name}f": name for name in ("isnan", "isinf", "signbit", "pow", "fma", "abs")},
    **{f"{name}d": name for name in ("isnan", "isinf", "signbit")},
    "frsqrt_rn": "rsqrt_rn",
    "fabs": "abs",
    "fabsf": "abs",
    "llabs": "abs",
    "powi": "pow",
    "powif": "pow",
    "umulhi": "mulhi",
    "mul64hi": "mulhi",
    "umul64hi": "mulhi",
    "umul24": "mul24",
    "uhadd": "hadd",
    "urhadd": "rhadd",
    "usad": "sad",
    "fast_fdividef": "fast_dividef",
}  # fmt: skip


def of_symbol(symbol: str) -> Any:
    """The function that ``__nv_<name>`` or ``__nv_<name>f`` is; None: not one of ours."""
    from tegula.language.extra import libdevice

    if not symbol.startswith("__nv_"):
        return None
    name = symbol[5:]
    for known in (name, OTHER.get(name), name[:-1] if name.endswith("f") else None):
        if known and not known.startswith("_") and hasattr(libdevice, known):
            return getattr(libdevice, known)
    return None
