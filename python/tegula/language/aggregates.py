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

    >>> @tegula.aggregate
    ... class Pair:
    ...     a: tl.tensor
    ...     b: tl.tensor
    ...     def total(self):
    ...         return self.a + self.b
    >>> @tegula.jit
    ... def kernel(x_ptr):
    ...     p = Pair(tl.load(x_ptr), 2.0)
    ...     tl.store(x_ptr, p.total())
    >>> x = np.ones(1, np.float32)
    >>> done = kernel[(1,)](x)
    >>> x.tolist()
    [3.0]
    """
    fields: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        fields.update(inspect.get_annotations(base))
    cls._fields = tuple(fields)  # type: ignore[attr-defined]
    cls._constexpr_fields = frozenset(  # type: ignore[attr-defined]
        name for name, note in fields.items() if "constexpr" in str(note)
    )
    cls._tensor_fields = frozenset(  # type: ignore[attr-defined]
        name
        for name, note in fields.items()
        if str(getattr(note, "__name__", note)).rpartition(".")[2] == "tensor"
    )
    cls.__tegula_aggregate__ = True  # type: ignore[attr-defined]
    return cls


_aggregate = aggregate
