"""What Triton's documentation says is raised, is raised: a row a promise."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula import compat, errors
from tegula.compat.compiler import ASTSource
from tegula.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def annotated(x, n: tl.int8):
    tl.store(x, n)


@triton.jit
def asserts(x, N: tl.constexpr):
    tl.static_assert(N == 4)


X, Y = np.ones(64, np.float32), np.zeros(64, np.float32)


def tuned(**how: Any) -> Any:
    configs = [triton.Config({"B": b}) for b in (32, 64)]
    return triton.autotune(configs, ["n"], **how)(copy)


def nested_mode() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool, triton.AsyncCompileMode(pool):
        with triton.AsyncCompileMode(pool):
            pass


def wrong_preload() -> None:
    import json

    copy.preload(json.dumps({"name": "another"}))


def perf_report() -> None:
    bench = triton.testing.Benchmark(
        ["m", "n"], [(1, 2, 3)], "line", ["a"], ["A"], "plot", {}
    )
    triton.testing.perf_report(bench)(lambda m, n, line: 1.0).run()


def descriptor(**changed: Any) -> None:
    given: dict[str, Any] = {
        "base": np.zeros((16, 16), np.float32),
        "shape": [16, 16],
        "strides": [16, 1],
        "block_shape": [8, 8],
    }
    TensorDescriptor(**(given | changed))


def unknown_stage() -> None:
    _ = copy.compile("*fp32", "*fp32", "i32", B=64, target="cpu").asm["no_such_stage"]


def two_sides() -> None:
    copy.compile("*fp32", "*fp32", "i32", B=64, target="cpu")[(1, 1)](X, Y, 64, 64)


def override_arch() -> None:
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.override_arch = "volta"
        copy.warmup(X, Y, 64, B=64, grid=(1,), arch="volta")


ROWS: list[tuple[str, type[BaseException], Callable[[], object]]] = [
    ("reinterpret", TypeError, lambda: triton.reinterpret(3, tl.float32)),
    ("call of a kernel", RuntimeError, lambda: copy(X, Y, 64, 64)),
    ("nested async", RuntimeError, nested_mode),
    ("preload of another", RuntimeError, wrong_preload),
    ("builtin on the host", ValueError, lambda: tl.arange(0, 4)),
    ("config given twice", ValueError, lambda: tuned()[(1,)](X, Y, 64, B=64)),
    (
        "nothing left",
        errors.AutotunerError,
        lambda: tuned(
            prune_configs_by={"early_config_prune": lambda configs, args, **kw: []}
        )[(1,)](X, Y, 64),
    ),
    (
        "top_k",
        TypeError,
        lambda: tuned(prune_configs_by={"perf_model": lambda **kw: 1, "top_k": 1.5})[
            (1,)
        ](X, Y, 64),
    ),
    ("signature", TypeError, lambda: ASTSource(copy, {0: "*fp32"})),
    ("unknown stage", KeyError, unknown_stage),
    ("x of another length", ValueError, perf_report),
    (
        "assert_close",
        AssertionError,
        lambda: triton.testing.assert_close(X, Y),
    ),
    ("shape", AssertionError, lambda: descriptor(shape=[16])),
    ("strides", AssertionError, lambda: descriptor(strides=[3, 1])),
    ("last stride", AssertionError, lambda: descriptor(strides=[16, 2])),
    ("empty shape", AssertionError, lambda: descriptor(shape=[0, 16])),
    ("padding", AssertionError, lambda: descriptor(padding="ones")),
    ("unknown option", KeyError, lambda: copy[(1,)](X, Y, 64, B=64, waves_per_eu=2)),
    ("grid is a str", TypeError, lambda: copy["3"](X, Y, 64, B=64)),
    ("list", TypeError, lambda: copy[(1,)](X, Y, [1], B=64)),
    ("str", TypeError, lambda: copy[(1,)](X, Y, "1", B=64)),
    ("too large", OverflowError, lambda: copy[(1,)](X, Y, 2**64, B=64)),
    ("too small", OverflowError, lambda: copy[(1,)](X, Y, -(2**63) - 1, B=64)),
    ("not of its type", OverflowError, lambda: annotated[(1,)](X, 300)),
    ("missing argument", TypeError, lambda: copy[(1,)](X, Y, 64)),
    (
        "static_assert",
        triton.compiler.errors.CompileTimeAssertionFailure,
        lambda: asserts[(1,)](X, N=3),
    ),
    ("compile", triton.CompilationError, lambda: copy[(1,)](X, Y, 64, B=3.5)),
    ("architecture", ValueError, override_arch),
]


@pytest.mark.parametrize(
    ("cls", "call"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS]
)
def test_raised(cls: type[BaseException], call: Callable[[], object]) -> None:
    with pytest.raises(BaseException) as e:
        call()
    assert isinstance(e.value, cls), repr(e.value)


# --- what compiling raised, inside ------------------------------------------------------
@triton.jit
def bad_range(x):
    tl.store(x + tl.arange(0, 3.5), 0)


@triton.jit
def bad_shape(x):
    tl.store(x + tl.arange(0, 4), tl.zeros([8], tl.float32))


@triton.jit
def bad_type(x):
    tl.store(x, tl.load(x) & 1)


@triton.jit
def unknown(x):
    tl.store(x, nothing)  # noqa: F821


@triton.jit
def outer(x):
    bad_type(x)


@pytest.fixture
def as_triton():
    compat.install()
    yield
    compat.uninstall()


@pytest.mark.parametrize(
    ("kernel", "cause"),
    [
        (bad_range, (TypeError, ValueError)),
        (bad_shape, ValueError),
        (bad_type, TypeError),
        (outer, TypeError),
    ],
)
def test_the_cause(kernel: Any, cause: type[Exception], as_triton: None) -> None:
    """Of an error in a function of the language: as the program that catches it expects."""
    with pytest.raises(triton.CompilationError) as e:
        kernel.compile("*fp32", target="cpu")
    inner = e.value.__cause__
    assert isinstance(inner, cause) and str(inner) == e.value.error_message
    assert str(inner) in str(e.value)
    assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value)


@triton.jit
def calls_unknown(x):
    # The call stands in the third line.
    unknown(x)


def test_the_cause_in_a_call(as_triton: None) -> None:
    """The error of the kernel is caused by that of the function which it calls."""
    with pytest.raises(triton.CompilationError) as e:
        calls_unknown.compile("*fp32", target="cpu")
    inner = e.value.__cause__
    assert isinstance(inner, triton.CompilationError) and inner.__cause__ is None
    assert "at 2:16:" in str(inner) and "at 3:4:" not in str(inner)
    assert "at 3:4: of calls_unknown()" in str(e.value)


def test_no_cause(as_triton: None) -> None:
    with pytest.raises(triton.CompilationError) as e:
        unknown.compile("*fp32", target="cpu")
    assert e.value.__cause__ is None


def test_no_chain_around_our_own_users() -> None:
    assert not compat.is_installed()
    with pytest.raises(triton.CompilationError) as e:
        bad_type.compile("*fp32", target="cpu")
    assert e.value.__cause__ is None and e.value.__context__ is None


@pytest.mark.parametrize(
    ("kernel", "place"),
    [
        (unknown, "at 2:16: of unknown()"),
        (bad_type, "at 2:16: of bad_type()"),
        (outer, "at 2:16: of bad_type()"),
    ],
)
def test_place_in_the_function(kernel: Any, place: str, as_triton: None) -> None:
    """As Triton says it, behind what we say: programs search for it."""
    with pytest.raises(triton.CompilationError) as e:
        kernel.compile("*fp32", target="cpu")
    text = str(e.value).splitlines()
    assert text[-1] == "  " + place
    assert text[0].endswith(e.value.message)
    again = pickle.loads(pickle.dumps(e.value))
    assert str(again) == str(e.value) and again.lineno == e.value.lineno


def test_no_second_place_for_our_own_users() -> None:
    with pytest.raises(triton.CompilationError) as e:
        unknown.compile("*fp32", target="cpu")
    assert "of unknown()" not in str(e.value)
