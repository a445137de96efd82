"""What signatures say of parameters and arguments: types as texts, ``"*fp32"``."""

from __future__ import annotations

import inspect
from typing import Any

from tegula.tensors import MockTensor

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


_CODES = {
    "bool": "i1",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    **{f"int{n}": f"i{n}" for n in (1, 8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
}


def type_code(a: Any) -> str:
    """The code of an annotation that is a type, int, tl.float32, "*fp16"; else ""."""
    if a in (bool, int, float):
        return {bool: "u1", int: "i32", float: "fp32"}[a]
    if isinstance(a, str):
        a = a.strip("'\"")
        base, star = a.removeprefix("*k").removeprefix("*"), "*" * a.startswith("*")
        if base in ("bool", "int", "float"):
            return star + {"bool": "u1", "int": "i32", "float": "fp32"}[base]
        code = _CODES.get(base.removeprefix("tl."), base)
        return star + code if code in {*_CODES.values(), "u1"} else ""
    if hasattr(a, "element_ty"):
        of = type_code(a.element_ty)
        return "*" + of if of else ""
    name = getattr(a, "name", "")
    return type_code(name) if isinstance(name, str) else ""


def _address(x: Any) -> int:
    if hasattr(x, "data_ptr"):
        return int(x.data_ptr())
    interface = getattr(x, "__array_interface__", None) or getattr(
        x, "__cuda_array_interface__", {"data": (1, False)}
    )
    return int(interface["data"][0])


def signature_text(x: Any, facts: bool = False) -> Any:
    """The type of an argument as signatures write it: "*fp32", "i32", a tuple of them.

    facts: with what a launch would find out, "*fp32:16". "constexpr" is what has no type.
    """
    if isinstance(x, bool):
        return "u1"
    if isinstance(x, int):
        ty = "i32" if -(2**31) <= x < 2**31 else "i64" if x < 2**63 else "u64"
        hint = ":1" if x == 1 else ":16" if x % 16 == 0 else ""
        return ty + hint if facts else ty
    if isinstance(x, float):
        return "fp32"
    if isinstance(x, str):  # a type already: kernel.compile("*fp32:16")
        return x if facts else x.partition(":")[0]
    if isinstance(x, tuple):
        return tuple(signature_text(e, facts) for e in x)
    if facts and hasattr(x, "value") and type(x).__name__ == "constexpr":
        return {"constexpr": x.value}
    if hasattr(x, "block_shape"):
        of = signature_text(x.base).removeprefix("*")
        return f"tensordesc<{of}{list(map(int, x.block_shape))}>"
    x = MockTensor.wrap_dtype(x)  # of a warmup
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return "constexpr"
    name = str(dtype).removeprefix("torch.")
    aligned = facts and _address(x) % 16 == 0
    return "*" + _CODES.get(name, name) + (":16" if aligned else "")


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
