"""Classes whose instances are values of kernels."""

from __future__ import annotations

import inspect
from typing import Any


def aggregate(cls: type) -> Any:
    """Make a class of values: kernels may build, pass and carry its instances.

    The annotated fields are the value: tensors, tuples and aggregates, and constants where
    the annotation is ``tl.constexpr``. ``__init__`` runs while compiling and is the only
    place that sets fields; without one, the fields are its parameters. Methods are
    inlined, decorated with ``@jit`` or not.
    """
    fields: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        fields.update(inspect.get_annotations(base))
    cls._fields = tuple(fields)  # type: ignore[attr-defined]
    cls._constexpr_fields = frozenset(  # type: ignore[attr-defined]
        name for name, note in fields.items() if "constexpr" in str(note)
    )
    cls.__tegula_aggregate__ = True  # type: ignore[attr-defined]
    return cls


_aggregate = aggregate
