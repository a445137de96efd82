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
    **{f"fmaf_ieee_{m}": f"fma_{m}" for m in MODES},
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


# Those that only have a symbol: functions of _symbols_alone.
ALONE = {
    **{f"{name}{f}": name for name in ("fmin", "fmax") for f in ("", "f")},
    **{f"{ll}{name}": f"int_{name}" for name in ("min", "max") for ll in ("", "ll")},
    **{f"{u}{name}": f"uint_{name}" for name in ("min", "max") for u in ("u", "ull")},
    "float2half_rn": "float2half_rn",
    "half2float": "half2float",
}
# LLVM's functions that not every target has, or that vectors have with us.
OF_LLVM = {
    **{name: name for name in
       ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh",
        "exp", "exp2", "exp10", "log", "log2", "log10", "pow",
        "floor", "ceil", "trunc", "round", "rint", "fma", "copysign")},
    "nearbyint": "rint",
    "roundeven": "rint",
    "fabs": "abs",
    "sqrt": "sqrt_rn",
}  # fmt: skip


KINDS = ("f16", "f32", "f64")


def of_llvm(symbol: str) -> Any:
    """The function that ``llvm.<name>.f32`` is; None: LLVM has it itself."""
    from tegula.language.extra import libdevice

    name, _, kind = symbol[5:].partition(".")
    known = OF_LLVM.get(name)
    return getattr(libdevice, known) if known and kind in KINDS else None


def of_symbol(symbol: str) -> Any:
    """The function that ``__nv_<name>`` or ``__nv_<name>f`` is; None: not one of ours."""
    from tegula.language.extra import libdevice

    if symbol.startswith("llvm."):
        return of_llvm(symbol)
    if not symbol.startswith("__nv_"):
        return None
    name = symbol[5:]
    if name in ALONE:
        from . import _symbols_alone

        return getattr(_symbols_alone, ALONE[name])
    for known in (name, OTHER.get(name), name[:-1] if name.endswith("f") else None):
        if known and not known.startswith("_") and hasattr(libdevice, known):
            return getattr(libdevice, known)
    return None
