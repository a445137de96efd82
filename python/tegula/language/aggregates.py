"""Classes whose instances are values of kernels."""

from __future__ import annotations

from typing import Any


def aggregate(cls: type) -> Any:
    """Make a class of values: kernels may build, pass and carry its instances.

    The annotated fields are the value: tensors, tuples and aggregates, and constants where
    the annotation is ``tl.constexpr``. ``__init__`` runs while compiling and is the only
    place that sets fields; without one, the fields are its parameters. Methods are
    inlined, decorated with ``@jit`` or not. ``__add__``, ``__rmul__``, ``__neg__``,
    ``__lt__`` and the like, ``__getitem__``, ``__enter__`` and ``__exit__`` are what they
    are in Python.

    >>> @tegula.aggregate
    ... class Pair:
    ...     a: tl.tensor
    ...     b: tl.tensor
    ...     def total(self):
    ...         return self.a + self.b
    ...     def __mul__(self, k):
    ...         return Pair(self.a * k, self.b * k)
    >>> @tegula.jit
    ... def kernel(x_ptr):
    ...     p = Pair(tl.load(x_ptr), 2.0) * 5
    ...     tl.store(x_ptr, p.total())
    >>> x = np.ones(1, np.float32)
    >>> done = kernel[(1,)](x)
    >>> x.tolist()
    [15.0]
    """
    import inspect  # the half of what `import tegula.language` costs elsewhere

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


def aggregate_replace(instance: Any, **changes: Any) -> Any:
    """Another value of an aggregate's class, with some fields changed.

    Its ``__init__`` is called with the fields by their names.

    Errors: CompileError[ARGUMENT] for what is no aggregate, CompileError[ATTRIBUTE] for a
            name that is no field; outside of kernels TypeError.

    >>> @tegula.aggregate
    ... class Range:
    ...     start: tl.tensor
    ...     end: tl.tensor
    >>> r = tl.aggregate_replace(Range(1, 2), end=8)
    >>> r.end - r.start
    int32: 7
    """
    cls = type(instance)
    if not hasattr(cls, "__tegula_aggregate__"):
        raise TypeError(f"aggregate_replace() takes an aggregate, not {instance!r}")
    for name in changes:
        if name not in cls._fields:
            raise TypeError(f"{cls.__name__} has no field '{name}'")
    fields = {name: getattr(instance, name) for name in cls._fields}
    return cls(**fields | changes)


aggregate_replace.__tegula_replace__ = True  # type: ignore[attr-defined]

_aggregate = aggregate
