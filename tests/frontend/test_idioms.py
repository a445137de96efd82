"""Habits of libraries that Triton puts up with: here is what some of them write."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tl.constexpr
def bits_of(dtype, signed: tl.constexpr):
    """Numbers are given as constexprs, dtypes as they are."""
    assert not dtype.is_bf16() and isinstance(signed, tl.constexpr)
    return tl.core.get_int_dtype(dtype.primitive_bitwidth, signed.value)


@tegula.jit
def to_bits(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x.to(bits_of(x.dtype, signed=False), bitcast=True))


def test_constexpr_function(run):
    x = np.linspace(-1, 1, 16, dtype=np.float32)
    y = np.zeros(16, np.uint32)
    run(to_bits, x, y, BLOCK=16)
    assert np.array_equal(y, x.view(np.uint32))


def test_constexpr_function_is_an_ordinary_one_on_the_host():
    assert bits_of(tl.float16, tl.constexpr(False)) == tl.uint16
    assert tl.constexpr(max)(3, 4) == 4


@tegula.constexpr_function
def element_of(x):
    """What triton_kernels asks of what may be a pointer or a descriptor."""
    if isinstance(x, tl.tensor):
        return x.dtype.element_ty if x.dtype.is_ptr() else x.dtype
    assert isinstance(x, tl.tensor_descriptor) and x.block_shape == (8, 16)
    return x.dtype


@tegula.constexpr_function
def either(x, y):
    return x if y is None else y


@tegula.jit
def ask_of_values(x_ptr, y_ptr, BLOCK: tl.constexpr):
    d = tl.make_tensor_descriptor(x_ptr, [8, 16], [16, 1], [8, 16])
    at = tl.arange(0, BLOCK)
    tl.static_assert(element_of(d) == tl.float32)
    tl.static_assert(element_of(at) == tl.int32)
    x = either(tl.load(x_ptr + at), y=None)
    tl.store(y_ptr + at, x.to(element_of(y_ptr), bitcast=True))


def test_constexpr_function_of_what_runs(run):
    """Its types and sides are constants; it may be returned."""
    x = np.linspace(-1, 1, 128, dtype=np.float32)
    y = np.zeros(128, np.uint32)
    run(ask_of_values, x, y, BLOCK=128)
    assert np.array_equal(y, x.view(np.uint32))


@pytest.mark.parametrize(
    "fn",
    [lambda n: n + 1, lambda n: 1 if n else 2, lambda n: n == 3, lambda n: {n: 1}],
)
def test_constexpr_function_of_a_value(fn):
    """What needs the value is an error about the argument, never an answer."""
    ask = tegula.constexpr_function(fn)

    @tegula.jit
    def kernel(y, n):
        tl.store(y, ask(n))

    with pytest.raises(tegula.CompileError, match=r"'n' .* known only when it runs"):
        kernel.lower("*fp32", "i32")


def test_constexpr_function_changed():
    """The kernel is compiled anew, as it is for a changed helper."""
    f = tl.constexpr(lambda x: x * 2)

    @tegula.jit
    def kernel(y, n: tl.constexpr):
        tl.store(y, f(n))

    y = np.zeros(1, np.int32)
    kernel[(1,)](y, 5)
    assert y[0] == 10
    f = tl.constexpr(lambda x: x * 3)
    kernel[(1,)](y, 5)
    assert y[0] == 15


@tegula.jit
def tiles(y_ptr, n_tiles, TILE: tl.constexpr):
    """A constant only when n_tiles is 1: the annotation says nothing for others."""
    size: tl.constexpr = TILE * n_tiles
    block: tl.constexpr = tl.arange(0, TILE) + size
    tl.store(y_ptr + tl.arange(0, TILE), block)


@pytest.mark.parametrize("n", [1, 3])
def test_annotation_of_what_is_no_constant(run, n):
    y = np.zeros(8, np.int32)
    run(tiles, y, n, TILE=8)
    assert np.array_equal(y, np.arange(8) + 8 * n)


def test_option_names_what_is_no_parameter():
    """A decorator may keep the name of a parameter that was removed."""
    with pytest.warns(
        UserWarning, match="names 'stride', which is no parameter"
    ) as seen:

        @tegula.jit(do_not_specialize=["stride", "n"])
        def kernel(y, n):
            tl.store(y, n)

    assert seen[0].filename == __file__
    y = np.zeros(1, np.int32)
    kernel[(1,)](y, 1)
    kernel[(1,)](y, 7)
    assert y[0] == 7 and len(kernel.variants) == 1


def test_tuner_that_measures_by_itself():
    """A class derived from Autotuner calls _bench(*args, config=.., **names)."""
    measured = []

    class Tuner(tegula.runtime.Autotuner):
        def run(self, *args, **kwargs):
            self.nargs = dict(zip(self.arg_names, args, strict=False))
            times = {c: self._bench(*args, config=c, **kwargs) for c in self.configs}
            measured.extend(times.values())
            best = min(times, key=times.get)
            return self.fn.run(*args, **kwargs, **best.all_kwargs())

    @tegula.jit
    def fill(y, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, at, mask=at < n)

    configs = [tegula.Config({"BLOCK": 32}), tegula.Config({"BLOCK": 64})]
    tuner = Tuner(fill, fill.arg_names, configs, [], None, None)
    y = np.zeros(50, np.int32)
    tuner[lambda meta: (tegula.cdiv(50, meta["BLOCK"]),)](y, 50)
    assert np.array_equal(y, np.arange(50))
    assert len(measured) == 2 and all(len(m) == 3 for m in measured)
    with pytest.raises(ValueError, match="given at the launch"):
        tuner._bench(y, 50, config=configs[0], BLOCK=8)


class Mode(enum.Enum):
    HALF = 0
    FULL = 3


ELEMENT = {Mode.HALF: tl.float16, Mode.FULL: tl.float32}
CHOSEN = tl.constexpr(Mode.FULL)


@pytest.fixture
def any_global():
    with tegula.knobs.compilation.scope() as group:
        group.allow_non_constexpr_globals = True
        yield


def test_value_of_a_constexpr_is_what_it_wraps(any_global):
    """An Enum's member has a .value of its own: that is .value.value."""

    @tegula.jit
    def number(mode: tl.constexpr):
        return mode.value.value

    @tegula.jit
    def kernel(y, MODE: tl.constexpr, WIDTH: tl.constexpr):
        e = ELEMENT[MODE.value]
        kept = MODE
        tl.store(y, (tl.full([], 1 / 3, e)).to(tl.float32))
        tl.store(y + 1, number(MODE) + 10 * WIDTH.value + 100 * Mode.FULL.value)
        tl.store(y + 2, kept.value == Mode.FULL)
        tl.store(y + 3, CHOSEN.value.value + (MODE.value is CHOSEN.value))

    y = np.zeros(4, np.float32)
    kernel[(1,)](y, Mode.FULL, 2)
    assert list(y) == [np.float32(1 / 3), 323, 1, 4]
    kernel[(1,)](y, Mode.HALF, 2)
    assert list(y) == [np.float32(np.float16(1 / 3)), 320, 0, 3]


@tegula.jit
def nibbles(x_ptr, y_ptr, N: tl.constexpr, D: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N)[:, None, :] * D + tl.arange(0, D)[None, :])
    q = (x[:, :, None, :] >> (tl.arange(0, 8) * 4)) & 15  # (N, D, 8)
    at = tl.arange(0, N)[:, None] * (8 * D) + tl.arange(0, 8 * D)[None, :, :, :]
    tl.store(y_ptr + at, tl.reshape(q, (N, 8 * D)))


def test_a_colon_too_many(run):
    x = np.arange(32, dtype=np.int32).reshape(8, 4) * 0x1357924
    y = np.zeros((8, 32), np.int32)
    run(nibbles, x, y, N=8, D=4)
    assert np.array_equal(y, (x[:, :, None] >> (np.arange(8) * 4) & 15).reshape(8, 32))


def test_a_class_of_a_module_computes_constants():
    @tegula.jit
    def limits(x, y, N: tl.constexpr):
        TOP: tl.constexpr = np.finfo(np.float32).max
        at = tl.arange(0, N)
        v = tl.minimum(tl.load(x + at), TOP)
        tl.store(y + at, tl.where(v < 0, np.iinfo(np.int16).min, v))

    x = np.array([np.inf, 1.0, -2.0, 3.0], np.float32)
    y = np.zeros(4, np.float32)
    limits[(1,)](x, y, N=4)
    np.testing.assert_array_equal(y, [np.finfo(np.float32).max, 1.0, -32768.0, 3.0])


def test_a_class_of_a_module_takes_no_tensor():
    @tegula.jit
    def limits(x):
        tl.store(x, np.finfo(tl.load(x)).max)

    with pytest.raises(tegula.CompileError, match=r"a kernel cannot call np\.finfo"):
        limits.lower("*fp32")


def test_a_class_that_refuses_says_so():
    @tegula.jit
    def limits(x):
        tl.store(x, np.finfo(3).max)

    with pytest.raises(tegula.CompileError, match="finfo"):
        limits.lower("*fp32")


@tegula.jit
def printf(x_ptr):
    tl.device_print("x=%f", tl.load(x_ptr))


@tegula.jit
def repeated(x_ptr, N: tl.constexpr):
    for i in tl.static_range(N):
        tl.store(x_ptr, i)


def test_a_format_is_no_prefix():
    with pytest.warns(
        UserWarning, match='takes a prefix, no format: it prints "x=%f: "'
    ):
        printf.lower("*fp32")


def test_a_long_static_range():
    with pytest.warns(UserWarning, match="repeats the code of this loop 501 times"):
        repeated.lower("*i32", N=501)
