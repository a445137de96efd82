"""Warnings while compiling: what Triton warns of, at the line of the kernel."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import tegula
import tegula.language as tl


@tegula.jit
def where_int(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.where(i, 1.0, 2.0))  # here


@tegula.jit
def and_of_blocks(x):
    i = tl.arange(0, 64)
    for k in tl.static_range(3):
        tl.store(x + i, 1.0, mask=(i > k) and (i < 9))  # here


@tegula.jit
def if_of_one(x):
    if tl.load(x + tl.arange(0, 1)) > 0:  # here
        tl.store(x, 1.0)


@tegula.jit
def view(x):
    v = tl.load(x + tl.arange(0, 64))
    tl.store(x, tl.sum(tl.view(v, (8, 8))))  # here


@tegula.jit
def reordered(x):
    v = tl.load(x + tl.arange(0, 64))
    tl.store(x, tl.sum(tl.reshape(v, (8, 8), can_reorder=True)))  # here


@tegula.jit
def reordered_cat(x):
    v = tl.load(x + tl.arange(0, 64))
    tl.store(x, tl.sum(tl.cat(v, v, can_reorder=True)))  # here


@tegula.jit
def softmax_keep_dims(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.softmax(tl.load(x + i), keep_dims=True))  # here


@tegula.jit
def min_of_blocks(x):
    i = tl.arange(0, 64)
    tl.store(x + i, min(i, 3))  # here


@tegula.jit
def shift(x):
    i = tl.arange(0, 64)
    tl.store(x + i, i << 32)  # here


@tegula.jit
def dot(x):
    i = tl.arange(0, 32)
    a = tl.zeros((32, 32), tl.float8e4b15)
    tl.store(x + i[:, None] * 32 + i[None, :], tl.dot(a, a))  # here


@tegula.jit
def helper(v):
    return tl.where(v, 1.0, 2.0)  # here


@tegula.jit
def in_helper(x):
    i = tl.arange(0, 64)
    tl.store(x + i, helper(i) + helper(i + 1))


@tegula.jit
def may_end(n):
    if n > 3:  # here
        return n * 2, 1.5


@tegula.jit
def missing_return(x):
    a, b = may_end(tl.load(x).to(tl.int32))
    tl.store(x, a + b)


@tegula.jit
def three():
    return 1.0, 2.0, 3.0


@tegula.jit
def too_many_values(x):
    a, b = three()  # here
    tl.store(x, a + b)


@tegula.jit
def sorts(x):
    a = tl.load(x + tl.arange(0, 8))
    a.sort()  # here
    tl.store(x + tl.arange(0, 8), a)


@tegula.jit
def converts(x):
    for _ in range(3):
        tl.load(x).to(tl.float16)  # here
    tl.store(x, 1.0)


@tegula.jit
def sums(x):
    a = tl.load(x + tl.arange(0, 8))
    if tl.load(x) > 0:
        a.sum(axis=0)  # here
    a.reshape(2, 4).split  # noqa: B018 - calls nothing
    tl.store(x, 1.0)


@tegula.jit
def multiplies(x):
    i = tl.arange(0, 16)
    a = tl.load(x + i[:, None] * 16 + i[None, :])
    acc = tl.zeros((16, 16), tl.float32)
    for _ in range(3):
        tl.dot(a, a, acc)  # here
    tl.store(x + i[:, None] * 16 + i[None, :], acc)


@tegula.jit
def loads(x):
    tl.load(x + tl.arange(0, 16))  # here
    tl.store(x, 1.0)


@tegula.jit
def reads_a_block(x):
    desc = tl.make_tensor_descriptor(x, [64, 64], [64, 1], [16, 16])
    desc.load([0, 0])  # here
    desc.store([16, 0], desc.load([0, 16]))


@tegula.jit
def of_the_library(x):
    tl.softmax(tl.load(x + tl.arange(0, 16)))  # here
    tl.store(x, 1.0)


@tegula.jit
def pure_assembly(x):
    move: tl.constexpr = "mov.b32 $0, $1;"
    y = tl.load(x)
    tl.inline_asm_elementwise(move, "=f,f", [y], tl.float32, True, 1)  # here
    tl.store(x, 1.0)


@pytest.fixture(autouse=True)
def no_disk() -> Iterator[None]:
    """What comes from the disk has warned when it was made."""
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = ""
        yield


def line_of(kernel: Any) -> int:
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(i for i, s in enumerate(lines) if "# here" in s)


CASES = [
    (where_int, UserWarning, "int1, not of i32"),
    (and_of_blocks, UserWarning, "write '&'"),
    (if_of_one, UserWarning, "one element"),
    (view, UserWarning, "tl.reshape"),
    (reordered, UserWarning, "reshape(can_reorder=True) is deprecated"),
    (reordered_cat, UserWarning, "cat(can_reorder=True) is deprecated"),
    (softmax_keep_dims, UserWarning, "softmax keeps the shape"),
    (min_of_blocks, DeprecationWarning, "tl.minimum"),
    (shift, UserWarning, "by 32 of 32 bits"),
    (dot, UserWarning, "float8e4b15 is deprecated"),
    (in_helper, UserWarning, "int1, not of i32"),
    (missing_return, UserWarning, "may also end without a return"),
    (too_many_values, UserWarning, "2 names on the left, 3 values on the right"),
    (sorts, UserWarning, "what a.sort() gives is not used, and a tensor is a value"),
    (converts, UserWarning, "write y = x.to(..)"),
    (sums, UserWarning, "write a = a.sum(..)"),
    (
        multiplies,
        UserWarning,
        "changes nothing: write acc = tl.dot(..), or leave it out",
    ),
    (loads, UserWarning, "write y = tl.load(..)"),
    (reads_a_block, UserWarning, "write y = desc.load(..)"),
    (of_the_library, UserWarning, "what tl.softmax(..) gives is not used"),
    (pure_assembly, UserWarning, "what tl.inline_asm_elementwise(..) gives"),
]
HELPERS = {in_helper: helper, missing_return: may_end}


@pytest.mark.parametrize("kernel,kind,text", CASES)
def test_warning(kernel: Any, kind: type[Warning], text: str) -> None:
    """One warning, once, where it is written."""
    target = "cuda:sm_90a" if kernel is dot else "cpu"
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        kernel.compile("*fp32", target=target)
    assert len(found) == 1
    w = found[0]
    assert w.category is kind and text in str(w.message)
    assert w.filename == __file__
    assert w.lineno == line_of(HELPERS.get(kernel, kernel))


@tegula.jit
def of_three_sizes(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, 1.0, mask=(i > 1) and (i < 9))


def test_once_for_all_variants() -> None:
    """Python's default filter shows a line's warning once, of however many compiles."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for n in (16, 32, 64):
            of_three_sizes.compile("*fp32", N=n, target="cpu")
    assert len(found) == 1


def test_warnings_as_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(tegula.CompileError, match="int1, not of i32") as e:
            where_int.lower("*fp32")
    assert f":{line_of(where_int)}:" in str(e.value)


@tegula.jit
def quiet(x):
    i = tl.arange(0, 64)
    m = (i > 3) & (i < 9)
    v = tl.softmax(tl.load(x + i).to(tl.float32))
    tl.store(x + i, tl.where(m, v, 0.0) + tl.cdiv(i, 3) + (i << 31), mask=m)
    if tl.max(i, 0) > 3 and tl.load(x) > 0:
        tl.store(x, tl.rand(0, 3) + min(2, 3))


@tegula.jit
def users_own(x):
    tl.store(x, 1.0)
    return x


@tegula.jit
def statements(x):
    """Calls that do something, or that a user wrote."""
    i = tl.arange(0, 8)
    (x + i).store(1.0)
    (x + i).atomic_add(1.0)
    x.to(tl.pointer_type(tl.int32)).atomic_poll(1)
    x.to(tl.pointer_type(tl.int32)).atomic_store(1)
    users_own(x)
    tl.static_assert(True)
    tl.device_assert(tl.load(x) > 0)
    tl.device_print("x", i)
    tl.debug_barrier()
    tl.multiple_of(i, 8)
    tl.load(x, volatile=True)
    tl.atomic_max(x, 1.0)
    tl.inline_asm_elementwise("// $0", "=r", [], tl.int32, is_pure=False, pack=1)
    tl.assume(tl.load(x) > 0)
    _ = i.sum()


def test_no_warning() -> None:
    """Nor of what the language itself is written in."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet.compile("*fp32", target="cpu")
        statements.compile("*fp32", target="cpu")
