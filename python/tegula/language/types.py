"""Types and constants of the kernel language: dtypes, pointers, blocks, constexpr.

These objects also exist outside kernels: as annotations, as arguments of launches, and
as constants that a kernel compares with (``x.dtype == tl.float16``). The dtypes are
``tl.int1``, ``tl.int8`` and so on, in the table of README.md; ``tl.void`` is the type of
nothing, ``tl.pi32_t`` that of a pointer to int32, ``tl.CONSTEXPR_0`` a constexpr of 0. A
block has up to ``tl.TRITON_MAX_TENSOR_NUMEL`` elements, 1048576.
"""

from __future__ import annotations

# One file, though a long one: pointers, blocks, tuples and constants are dtypes, and their
# methods give each other back.

import builtins
import enum
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tegula.constexprs import Constant as _Constant

from .builtin import outside

if TYPE_CHECKING:
    from ._tensor import tensor as tensor
    from ._tensor import tensor_descriptor as tensor_descriptor

    # What stands for a block or a scalar, and for a shape: a sequence, or its dims as
    # arguments.
    Operand: TypeAlias = tensor | int | float
    Shape: TypeAlias = Sequence[int] | int

TRITON_MAX_TENSOR_NUMEL = 1048576


class _base_type:
    """What all types of values are."""


class _base_value:
    """What all values of kernels are: tensors, tuples, constants, descriptors."""


class dtype(_base_type):
    """An element type such as ``tl.float32``. Equal and hashed by its name.

    In kernels and on the host: ``name``, ``primitive_bitwidth``, ``itemsize``,
    ``is_floating()``, ``is_int()``, ``is_int_signed()``, ``is_fp8()``, and ``is_fp16()``
    and so on for every name.

    Errors: ValueError for a name that is none.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> x.dtype.primitive_bitwidth
    int32: 32
    >>> x.dtype == tl.float16
    int1: 0
    """

    SINT_TYPES = ["int8", "int16", "int32", "int64"]
    UINT_TYPES = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES = ["fp8e4b15", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16"]
    FP_TYPES += ["fp16", "bf16", "fp32", "fp64"]
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES = ["void"]

    class SIGNEDNESS(enum.Enum):
        SIGNED = 0
        UNSIGNED = 1

    class KIND(enum.Enum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    def __init__(self, name: str) -> None:
        name = _unwrap(name)
        self.name = name
        if name in _INTS:
            self.int_bitwidth = self.primitive_bitwidth = _INTS[name]
            signed = name in dtype.SINT_TYPES
            self.int_signedness = (
                dtype.SIGNEDNESS.SIGNED if signed else dtype.SIGNEDNESS.UNSIGNED
            )
        elif name in _FLOATS:
            self.primitive_bitwidth, self.fp_mantissa_width, self.exponent_bias = (
                _FLOATS[name]
            )
        elif name == "void":
            self.primitive_bitwidth = 0
        else:
            raise ValueError(f"{name!r} is not a dtype")
        self.itemsize = self.primitive_bitwidth // 8

    if TYPE_CHECKING:  # made below, one for each name

        def is_int1(self) -> bool: ...
        def is_int8(self) -> bool: ...
        def is_int16(self) -> bool: ...
        def is_int32(self) -> bool: ...
        def is_int64(self) -> bool: ...
        def is_uint8(self) -> bool: ...
        def is_uint16(self) -> bool: ...
        def is_uint32(self) -> bool: ...
        def is_uint64(self) -> bool: ...
        def is_fp8e4b15(self) -> bool: ...
        def is_fp8e4nv(self) -> bool: ...
        def is_fp8e4b8(self) -> bool: ...
        def is_fp8e5(self) -> bool: ...
        def is_fp8e5b16(self) -> bool: ...
        def is_fp16(self) -> bool: ...
        def is_bf16(self) -> bool: ...
        def is_fp32(self) -> bool: ...
        def is_fp64(self) -> bool: ...

        # Checkers cannot tell pointers from blocks and scalars: all have it.
        element_ty: dtype
        """What a pointer points to, what a block consists of."""

    def is_fp8(self) -> bool:
        return self.name.startswith("fp8")

    def is_floating(self) -> bool:
        return self.name in _FLOATS

    def is_standard_floating(self) -> bool:
        return self.name in dtype.STANDARD_FP_TYPES

    def is_int(self) -> bool:
        return self.name in _INTS

    def is_int_signed(self) -> bool:
        return self.name in dtype.SINT_TYPES

    def is_int_unsigned(self) -> bool:
        return self.name in dtype.UINT_TYPES

    def is_bool(self) -> bool:
        return self.name == "int1"

    def is_void(self) -> bool:
        raise RuntimeError("Not implemented")

    def is_block(self) -> bool:
        return False

    def is_ptr(self) -> bool:
        return False

    def is_const(self) -> bool:
        return False

    @staticmethod
    def is_dtype(type_str: str) -> bool:
        """Is this the name of a dtype?"""
        return type_str in _INTS or type_str in _FLOATS or type_str == "void"

    def kind(self) -> dtype.KIND:
        if self.name == "int1":
            return dtype.KIND.BOOLEAN
        if self.name in _INTS:
            return dtype.KIND.INTEGRAL
        if self.name in _FLOATS:
            return dtype.KIND.FLOATING
        raise RuntimeError(f"{self.name} has no kind")

    def get_int_max_value(self) -> int:
        if self.is_int_signed():
            return 2 ** (self.int_bitwidth - 1) - 1
        if self.is_int_unsigned():
            return 2**self.int_bitwidth - 1
        raise AssertionError(f"{self.name} is no integer type")

    def get_int_min_value(self) -> int:
        if self.is_int_signed():
            return -(2 ** (self.int_bitwidth - 1))
        if self.is_int_unsigned():
            return 0
        raise AssertionError(f"{self.name} is no integer type")

    def with_element_ty(self, element_ty: dtype) -> dtype:
        return element_ty

    def mangle(self) -> str:
        if self.is_int():
            sign = "i" if self.is_int_signed() else "u"
            return f"{sign}{self.int_bitwidth}"
        return self.name

    def codegen_name(self) -> str:
        if self.name.startswith("fp"):
            return "float" + self.name[2:]
        if self.name.startswith("bf"):
            return "bfloat" + self.name[2:]
        return self.name

    @property
    def cache_key_part(self) -> str:
        return self.name

    @property
    def scalar(self) -> dtype:
        return self

    def __eq__(self, other: object) -> bool:
        other = _unwrap(other)
        return type(other) is dtype and self.name == other.name

    def __hash__(self) -> int:
        return hash((self.name,))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        # Programs are written with it: the name their module has it under.
        compat = sys.modules.get("tegula.compat")
        home = "triton" if compat and compat.is_installed() else "tegula"
        return f"{home}.language.{self.codegen_name()}"

    def __reduce__(self) -> Any:
        return type(self), (self.name,)


_INTS = {"int1": 1} | {f"{u}int{n}": n for u in ("", "u") for n in (8, 16, 32, 64)}
# bits, mantissa, exponent bias
_FLOATS = {
    "fp8e4b15": (8, 3, 15),
    "fp8e4nv": (8, 3, 7),
    "fp8e4b8": (8, 3, 8),
    "fp8e5": (8, 2, 15),
    "fp8e5b16": (8, 2, 16),
    "fp16": (16, 10, 15),
    "bf16": (16, 7, 127),
    "fp32": (32, 23, 127),
    "fp64": (64, 52, 1023),
}


def _is_fn(name: str) -> Callable[[dtype], bool]:
    return lambda self: self.name == name


for _name in (*_INTS, *_FLOATS):
    setattr(dtype, "is_" + _name, _is_fn(_name))


class pointer_type(dtype):
    """A pointer to elements of one dtype.

    Types:  element_ty is a dtype, ``p.dtype.element_ty`` in kernels. const: reading only.
    Errors: TypeError where element_ty is no dtype.

    >>> x_ptr.dtype.element_ty == tl.float32
    int1: 1
    """

    def __init__(
        self, element_ty: dtype, address_space: str = "global", const: bool = False
    ) -> None:
        element_ty = _unwrap(element_ty)
        if not isinstance(element_ty, dtype):
            raise TypeError(
                f"element_ty has type `{type(element_ty).__name__}`; expected `dtype`."
            )
        self.element_ty = element_ty
        self.address_space = address_space
        self.const = const
        self.name = (
            f"pointer<{element_ty}>" if not const else f"const_pointer<{element_ty}>"
        )
        self.primitive_bitwidth = 64
        self.itemsize = 8

    def is_ptr(self) -> bool:
        return True

    def is_const(self) -> bool:
        return self.const

    def mangle(self) -> str:
        return f"P{self.element_ty.mangle()}"

    def __eq__(self, other: object) -> bool:
        other = _unwrap(other)
        return (
            isinstance(other, pointer_type)
            and self.element_ty == other.element_ty
            and self.address_space == other.address_space
            and self.const == other.const
        )

    def __hash__(self) -> int:
        return hash((self.name, self.address_space))

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return pointer_type, (self.element_ty, self.address_space, self.const)


class block_type(dtype):
    """A block: an element type and a shape; ``x.type`` in kernels.

    Errors: TypeError without dims.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> x.type.shape[0]
    int32: 4
    >>> x.type.scalar == tl.float32
    int1: 1
    """

    def __init__(self, element_ty: dtype, shape: Sequence[int]) -> None:
        self.element_ty = element_ty
        self.shape = builtins.tuple(_unwrap(n) for n in shape)
        if not self.shape:
            raise TypeError("0d block_type is forbidden")
        self.numel = 1
        for n in self.shape:
            self.numel *= n
        self.name = f"<{self.shape}, {element_ty}>"
        self.primitive_bitwidth = element_ty.primitive_bitwidth
        self.itemsize = element_ty.itemsize

    @property
    def scalar(self) -> dtype:
        return self.element_ty

    @property
    def nbytes(self) -> int:
        return self.numel * (self.element_ty.primitive_bitwidth // 8)

    def is_block(self) -> bool:
        return True

    def get_block_shapes(self) -> builtins.tuple[int, ...]:
        return self.shape

    def with_element_ty(self, element_ty: dtype) -> block_type:
        return block_type(element_ty, self.shape)

    def mangle(self) -> str:
        return f"{self.element_ty.mangle()}S{'_'.join(map(str, self.shape))}S"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, block_type)
            and self.element_ty == other.element_ty
            and self.shape == other.shape
        )

    def __hash__(self) -> int:
        return hash((self.element_ty, self.shape))

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return block_type, (self.element_ty, self.shape)


class tuple_type(dtype):
    """The type of a tuple of values, ``t.type`` in kernels; fields of a named tuple.

    >>> t = (tl.program_id(0), 2.5)
    >>> t.type == tl.tuple_type([tl.int32, tl.float32])
    int1: 1
    """

    def __init__(
        self, types: Sequence[Any], fields: Sequence[str] | None = None
    ) -> None:
        self.types = list(types)
        self.fields = list(fields) if fields is not None else None
        self.name = "[" + ",".join(map(str, self.types)) + "]"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.name)

    def mangle(self) -> str:
        return "T" + "_".join(t.mangle() for t in self.types) + "T"

    def __getitem__(self, i: int) -> Any:
        return self.types[i]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.types)


class tensor_descriptor_type(dtype):
    """The type of a tensor descriptor, ``d.type`` in kernels: of the blocks it moves.

    >>> d = tl.make_tensor_descriptor(x_ptr, [8, 8], [8, 1], [2, 4])
    >>> d.type.block_type.shape[1]
    int32: 4
    """

    def __init__(
        self, block_type: block_type, shape_type: Any = None, strides_type: Any = None
    ) -> None:
        self.block_type = block_type
        n = len(block_type.shape)
        self.shape_type = shape_type or tuple_type([dtype("int32")] * n)
        self.strides_type = strides_type or tuple_type([dtype("int64")] * n)
        self.name = f"tensor_descriptor<{block_type}>"

    def mangle(self) -> str:
        return f"TD{self.block_type.mangle()}"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.block_type == other.block_type

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return tensor_descriptor_type, (
            self.block_type,
            self.shape_type,
            self.strides_type,
        )


if not TYPE_CHECKING:

    class tensor_descriptor(_base_value):
        """What ``tl.make_tensor_descriptor`` gives: for ``isinstance`` in kernels.

        It has ``load``, ``store``, ``gather``, ``scatter``, ``atomic_add``, ``_min``,
        ``_max``, ``_and``, ``_or``, ``_xor``; ``shape``, ``strides``, ``dtype``,
        ``block_shape``, ``block_type``, ``type``.

        >>> d = tl.make_tensor_descriptor(x_ptr, [8, 8], [8, 1], [2, 4])
        >>> d.load([1, 4])
        float32[2, 4]: [[12, 13, 14, 15], [20, 21, 22, 23]]
        """


class _Constexpr(_base_value, _Constant):
    """A value known when the kernel is compiled.

    As a parameter's annotation it asks for one variant per value; wrapped around a global
    (``SCALE = tl.constexpr(0.5)``) it lets kernels read it. In a kernel an annotated name,
    ``n: tl.constexpr = 4``, stays a constant where a plain assignment makes a tensor.
    Around a function it lets kernels call it on constants, where numbers and strings
    are given as constexprs; ``@tegula.constexpr_function`` gives it the bare values.

    >>> n: tl.constexpr = 4
    >>> tl.arange(0, n * 2 // 3)
    int32[2]: [0, 1]
    """

    def __init__(self, value: Any) -> None:
        while isinstance(value, _Constexpr):
            value = value.value
        self.value: Any = value

    @property
    def type(self) -> constexpr_type:
        return constexpr_type(self.value)

    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"

    def __hash__(self) -> int:
        return hash((_Constexpr, self.value))

    def __index__(self) -> int:
        return int(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)

    def _callee(self) -> Any:
        """The function it wraps, as kernels call it."""
        from ._calls import Callee

        return Callee(self.value)

    def __getitem__(self, key: Any) -> Any:
        return self.value[_unwrap(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def logical_and(self, other: Any) -> _Constexpr:
        return _Constexpr(self.value and _unwrap(other))

    def logical_or(self, other: Any) -> _Constexpr:
        return _Constexpr(self.value or _unwrap(other))

    def __not__(self) -> _Constexpr:
        return _Constexpr(not self.value)


class constexpr_type(dtype):
    """The type of a constexpr: its value.

    >>> n: tl.constexpr = 4
    >>> n.type == tl.constexpr_type(4)
    int1: 1
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self.name = repr(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"constexpr_type[{self.value}]"


def _unwrap(x: Any) -> Any:
    return x.value if isinstance(x, _Constexpr) else x


def _constexpr_operators() -> None:
    import operator

    def two(fn: Callable[[Any, Any], Any]) -> Callable[[_Constexpr, Any], _Constexpr]:
        return lambda a, b: _Constexpr(fn(a.value, _unwrap(b)))

    def swapped(
        fn: Callable[[Any, Any], Any],
    ) -> Callable[[_Constexpr, Any], _Constexpr]:
        return lambda a, b: _Constexpr(fn(_unwrap(b), a.value))

    def one(fn: Callable[[Any], Any]) -> Callable[[_Constexpr], _Constexpr]:
        return lambda a: _Constexpr(fn(a.value))

    for name in "add sub mul truediv floordiv mod pow lshift rshift and or xor".split():
        fn = getattr(operator, f"__{name}__")
        setattr(_Constexpr, f"__{name}__", two(fn))
        setattr(_Constexpr, f"__r{name}__", swapped(fn))
    for name in "eq ne lt le gt ge".split():
        setattr(_Constexpr, f"__{name}__", two(getattr(operator, f"__{name}__")))
    for name in "neg pos invert".split():
        setattr(_Constexpr, f"__{name}__", one(getattr(operator, f"__{name}__")))


_constexpr_operators()
_Constexpr.__name__ = _Constexpr.__qualname__ = "constexpr"

if TYPE_CHECKING:
    # To checkers it is Any: an annotation takes whatever a launch passes (BLOCK:
    # tl.constexpr = 128), and a constant serves as what it holds. It is the name of a
    # module that is not there because pyright lets nobody call an alias of Any, as
    # SCALE = tl.constexpr(0.5) does.
    from tegula.language._unknown import Unknown  # type: ignore[import-not-found]

    constexpr: TypeAlias = Unknown
    """A value known when the kernel is compiled.

    ``BLOCK: tl.constexpr`` as a parameter: one variant of the kernel per value.
    ``n: tl.constexpr = 4`` in a kernel: stays a constant where ``n = 4`` makes a tensor.
    ``SCALE = tl.constexpr(0.5)`` outside: a constant that kernels may read.
    """

    const: TypeAlias = "tensor"
    """Annotation of a pointer parameter that the kernel only reads."""
else:
    constexpr = _Constexpr

    class const:
        """Annotation of a pointer parameter that the kernel only reads.

        >>> @tegula.jit
        ... def second(p: tl.const):
        ...     return tl.load(p + 1)
        >>> second(x_ptr)
        float32: 1
        """


if not TYPE_CHECKING:  # checkers see it with its methods, in the generated _tensor.pyi

    class tensor(_base_value):
        """What a kernel computes with: a scalar, or a block of elements of one dtype.

        Exists for annotations and ``isinstance`` inside kernels; nothing on the host makes
        one. A tensor has ``dtype``, ``shape``, ``type``, ``numel``, ``T``, the operators
        of Python's numbers, and as methods the functions of the language that say so
        (``x.to(tl.float16)``, ``x.sum(0)``). ``x[:, None]`` inserts a dim of 1.

        >>> x = tl.load(x_ptr + tl.arange(0, 4))
        >>> isinstance(x, tl.tensor)
        int1: 1
        >>> x[:, None].to(tl.float16) + x[:2]
        float32[4, 2]: [[0, 1], [1, 2], [2, 3], [3, 4]]
        """

        @property
        def T(self) -> Any:
            """The last two dims, swapped: ``tl.trans(x)``."""
            return outside()


class tuple(builtins.tuple, _base_value):
    """A tuple of values; in a kernel every tuple and list is one.

    >>> t = (1, 2.5)
    >>> t + [3]
    int32: 1
    float32: 2.5
    int32: 3
    """

    def __new__(cls, args: Iterable[Any] = (), type: Any = None) -> tuple:
        return super().__new__(cls, args)


class slice(_base_value):
    """A range of an index, as ``x[start:stop:step]`` writes it.

    Types: constant ints, or None for a bound that is left out.

    >>> x = tl.arange(0, 8)
    >>> x[tl.slice(1, None, 3)]
    int32[3]: [1, 4, 7]
    """

    def __init__(self, start: Any, stop: Any, step: Any = None) -> None:
        self.start = start
        self.stop = stop
        self.step = step


class PropagateNan(enum.Enum):
    """What maximum and minimum do with NaN: NONE lets the other operand win, ALL NaN.

    >>> tl.maximum(float("nan"), 1.0, propagate_nan=tl.PropagateNan.NONE)
    float32: 1
    >>> tl.maximum(float("nan"), 1.0, propagate_nan=tl.PropagateNan.ALL)
    float32: nan
    """

    NONE = 0
    ALL = 0xFFFF

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__


void = dtype("void")
"""No value: what a kernel returns."""
int1 = dtype("int1")
"""A bool: what comparisons give and masks are."""
int8 = dtype("int8")
int16 = dtype("int16")
int32 = dtype("int32")
int64 = dtype("int64")
uint8 = dtype("uint8")
uint16 = dtype("uint16")
uint32 = dtype("uint32")
uint64 = dtype("uint64")
float8e5 = dtype("fp8e5")
"""8 bits: 5 of exponent, 2 of mantissa; has infinities."""
float8e5b16 = dtype("fp8e5b16")
"""8 bits: 5 of exponent with a bias of 16, 2 of mantissa, to 57344; no infinities, no
-0.0, one NaN. What is too large becomes 57344, an infinity NaN. ``float8_e5m2fnuz``."""
float8e4nv = dtype("fp8e4nv")
"""8 bits: 4 of exponent, 3 of mantissa, to 448; no infinities."""
float8e4b8 = dtype("fp8e4b8")
"""8 bits: 4 of exponent with a bias of 8, 3 of mantissa, to 240; no infinities, no -0.0,
one NaN. What is too large becomes 240, an infinity NaN. ``float8_e4m3fnuz``."""
float8e4b15 = dtype("fp8e4b15")
"""8 bits: 4 of exponent with a bias of 15, 3 of mantissa; no infinities, no NaN.

Rounding to it is to nearest, halves away from zero, whatever ``fp_downcast_rounding`` says;
what is beyond 1.75 becomes 1.75, NaN as well. The fastest to convert where no instruction
does. Tensors come by ``tegula.reinterpret(x, tl.float8e4b15)``."""
float16 = dtype("fp16")
"""IEEE half: 5 bits of exponent, 10 of mantissa."""
bfloat16 = dtype("bf16")
"""The upper half of a float32: 8 bits of exponent, 7 of mantissa."""
float32 = dtype("fp32")
"""IEEE single: 8 bits of exponent, 23 of mantissa."""
float64 = dtype("fp64")
"""IEEE double: 11 bits of exponent, 52 of mantissa."""
pi32_t = pointer_type(int32)
"""A pointer to int32."""


def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The integer type of this width and signedness; int1 for one bit.

    Types:  bitwidth 1, 8, 16, 32 or 64 and signed are constants; the result is a dtype.
    Errors: ValueError for another width.

    >>> x = tl.arange(0, 4)
    >>> x.to(tl.core.get_int_dtype(16, False))
    uint16[4]: [0, 1, 2, 3]
    """
    bitwidth, signed = _unwrap(bitwidth), _unwrap(signed)
    if bitwidth == 1:
        return int1
    if bitwidth not in (8, 16, 32, 64):
        raise ValueError(f"Unsupported bitwidth {bitwidth} and signedness {signed}")
    return dtype(f"{'' if signed else 'u'}int{bitwidth}")


get_int_dtype.__tegula_constexpr__ = True  # type: ignore[attr-defined]


def str_to_ty(name: str, c: Any = None) -> Any:
    """The type that a signature's code stands for: "fp32", "*i64", "*kfp16".

    Types:  name is a text of the host; c, the context of Triton's compiler, is ignored.
    Errors: ValueError for a code that is none.

    >>> tl.str_to_ty("*fp16").element_ty == tl.float16
    int1: 1
    """
    name = _unwrap(name)
    if name == "constexpr":
        return constexpr_type(None)
    if name.startswith("tensordesc<"):
        of, _, shape = name[len("tensordesc<") : -1].rstrip("]").partition("[")
        sides = [int(side) for side in shape.split(",")]
        return tensor_descriptor_type(block_type(str_to_ty(of), sides))
    if name.startswith("*k"):
        return pointer_type(str_to_ty(name[2:]), const=True)
    if name.startswith("*"):
        return pointer_type(str_to_ty(name[1:]))
    short = {"B": "int1", "u1": "int1", "i1": "int1"} | {
        f"{s}{n}": f"{'' if s == 'i' else 'u'}int{n}"
        for s in "iu"
        for n in (8, 16, 32, 64)
    }
    return dtype(short.get(name, name))


str_to_ty.__tegula_constexpr__ = True  # type: ignore[attr-defined]


def _unwrap_if_constexpr(o: Any) -> Any:
    if isinstance(o, (list, builtins.tuple)):
        return type(o)(_unwrap_if_constexpr(x) for x in o)
    return _unwrap(o)


_unwrap_if_constexpr.__tegula_constexpr__ = True  # type: ignore[attr-defined]


def _unwrap_iterable(x: Any) -> Any:
    """What ``*shape`` caught: of ``f(x, (1, 2))`` and ``f(x, 1, 2)`` the same tuple."""
    if len(x) == 1:
        inner = _unwrap(x[0])
        if hasattr(inner, "__iter__"):
            return inner
    return x


def _unwrap_shape(shape: Any) -> list[Any]:
    """The numbers of a shape, which may be constexprs."""
    return [_unwrap(o) for o in _unwrap(shape)]


CONSTEXPR_0 = constexpr(0)
