"""``triton._utils``: small functions that libraries import from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tegula.language import TRITON_MAX_TENSOR_NUMEL as TRITON_MAX_TENSOR_NUMEL
from tegula.signatures import type_canonicalisation_dict as _codes

# The code of a type by any of its names; truth values are one unsigned bit.
type_canonicalisation_dict = {k: "u1" if v == "i1" else v for k, v in _codes.items()}


def _bits(code: str) -> int:
    if code == "void":
        return 0
    return 8 if code.startswith("fp8") else int(code.lstrip("iufpb"))


BITWIDTH_DICT = {name: _bits(c) for name, c in type_canonicalisation_dict.items()}


def get_iterable_path(iterable: Any, path: tuple[int, ...]) -> Any:
    """iterable[path[0]][path[1]].."""
    for i in path:
        iterable = iterable[i]
    return iterable


def find_paths_if(
    iterable: Any, pred: Callable[[tuple[int, ...], Any], bool]
) -> list[tuple[int, ...]]:
    """The paths of the leaves of nested lists and tuples for which pred(path, leaf)."""

    def walk(path: tuple[int, ...], x: Any) -> list[tuple[int, ...]]:
        if isinstance(x, (list, tuple)):
            return [p for i, y in enumerate(x) for p in walk((*path, i), y)]
        return [path] if pred(path, x) else []

    return walk((), iterable)


def is_power_of_two(x: int) -> bool:
    return x & (x - 1) == 0


def validate_block_shape(shape: list[int]) -> int:
    """How many elements a block has; errors where Triton has no such block."""
    numel = 1
    for i, side in enumerate(shape):
        if not isinstance(side, int):
            raise TypeError(
                f"Shape element {i} must have type `constexpr[int]`, got {side!r}"
            )
        if not is_power_of_two(side):
            raise ValueError(f"Shape element {i} must be a power of 2")
        numel *= side
    if numel > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(
            f"numel ({numel}) exceeds triton maximum tensor numel "
            f"({TRITON_MAX_TENSOR_NUMEL})"
        )
    return numel


def canonicalize_dtype(dtype: Any) -> str:
    """The code of a type: "fp32" for torch.float32."""
    return type_canonicalisation_dict[str(dtype).rpartition(".")[2]]


def canonicalize_ptr_dtype(dtype: Any, is_const: bool) -> str:
    return f"{'*k' if is_const else '*'}{canonicalize_dtype(dtype)}"


def get_primitive_bitwidth(dtype: str) -> int:
    """The bits of a type, by its name or code."""
    return BITWIDTH_DICT[dtype]


def is_namedtuple(val: Any) -> bool:
    """Is it a class of named tuples?"""
    return isinstance(val, type) and issubclass(val, tuple) and hasattr(val, "_fields")
