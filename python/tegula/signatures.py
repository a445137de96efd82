"""What signatures say of parameters and arguments: types as texts, ``"*fp32"``."""

from __future__ import annotations

import inspect
from typing import Any

from tegula.compiler import signature_text, type_code

# Codes of types in signatures, by the names that libraries write.
type_canonicalisation_dict = {
    "bool": "i1",
    "bool_": "i1",
    "int": "i32",
    "int1": "i1",
    "uint1": "u1",
    **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
    "float8_e4m3fn": "fp8e4nv",
    "float8e4nv": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "float8e5": "fp8e5",
    "float8e4b15": "fp8e4b15",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8e4b8": "fp8e4b8",
    "float8_e5m2fnuz": "fp8e5b16",
    "float8e5b16": "fp8e5b16",
    "half": "fp16",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float": "fp32",
    "float32": "fp32",
    "double": "fp64",
    "float64": "fp64",
    "void": "void",
}
type_canonicalisation_dict |= {v: v for v in list(type_canonicalisation_dict.values())}


def _normalize_ty(ty: Any) -> str:
    """The code of an annotation that is a type, else its name."""
    if not isinstance(ty, str):
        name = getattr(ty, "name", None)
        ty = (
            name if isinstance(name, str) else getattr(ty, "__name__", None) or repr(ty)
        )
    ty = ty.strip().strip("'\"")
    star = ty[: len(ty) - len(ty.lstrip("*"))]
    base = ty[len(star) :].removeprefix("tl.")
    const = "k" if star and base.startswith("k") else ""
    code = type_canonicalisation_dict.get(base.removeprefix(const))
    if code is None:
        return ty
    return star + const + ("u1" if code == "i1" else code)


class KernelParam:
    """One parameter of a kernel, as ``kernel.params`` lists them."""

    def __init__(
        self,
        num: int,
        param: inspect.Parameter,
        do_not_specialize: bool,
        do_not_specialize_on_alignment: bool,
    ) -> None:
        self.num = num
        self._param = param
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment

    @property
    def name(self) -> str:
        return self._param.name

    @property
    def annotation(self) -> str:
        a = self._param.annotation
        if a is self._param.empty:
            return ""
        return _normalize_ty(a)

    @property
    def annotation_type(self) -> str:
        """The type it gives an argument, as signatures write it: "i32"; or ""."""
        return type_code(self._param.annotation)

    @property
    def is_constexpr(self) -> bool:
        return "constexpr" in self.annotation

    @property
    def is_const(self) -> bool:
        return "const" in self.annotation and not self.is_constexpr

    @property
    def default(self) -> Any:
        return self._param.default

    @property
    def has_default(self) -> bool:
        return self._param.default is not self._param.empty

    def __repr__(self) -> str:
        return f"KernelParam({self._param})"


def mangle_type(arg: Any, specialize: bool = False) -> Any:
    """The type of an argument as signatures write it."""
    return signature_text(arg, specialize)


def native_specialize_impl(
    backend: Any, arg: Any, is_const: bool, specialize_value: bool, align: bool
) -> tuple[Any, Any]:
    """(type of an argument, what is assumed of its value), as Triton launches it."""
    if isinstance(arg, (tuple, list)):
        pairs = [
            native_specialize_impl(backend, a, is_const, specialize_value, align)
            for a in arg
        ]
        return tuple(t for t, _ in pairs), tuple(k for _, k in pairs)
    ty = mangle_type(arg)
    if ty == "constexpr" or (specialize_value and type(arg) is int and arg == 1):
        return "constexpr", arg
    if type(arg) is int:
        key = backend.get_int_specialization(arg, align=align)
        return ty, key if specialize_value else None
    if isinstance(ty, str) and ty.startswith("*"):
        key = backend.get_tensor_specialization(arg, align=align)
        return "*k" + ty[1:] if is_const else ty, key if specialize_value else None
    return ty, None
