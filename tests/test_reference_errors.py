"""The errors that the reference documents are the ones that are raised.

A row is an expression that breaks a rule of its docstring, and the code it must earn. The
texts of the messages are in tests/errors.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import tegula

# In kernel(x_ptr, i_ptr), pointers to float32 and int32; x is a block of 4, p of pointers.
ROWS = [
    ("tl.program_id(3)", "VALUE"),
    ("tl.num_programs(-1)", "VALUE"),
    ("tl.arange(0, 0)", "VALUE"),
    ("tl.arange(-4, 0)", "VALUE"),
    ("tl.arange(0, tl.load(i_ptr))", "VALUE"),
    ("tl.full((2,), x, tl.int32)", "VALUE"),
    ("tl.full((-1,), 0, tl.int32)", "VALUE"),
    ("tl.full((0,), 0, tl.int32)", "VALUE"),
    ("tl.zeros((-2,), tl.int32)", "VALUE"),
    ('tl.zeros_like("x")', "TYPE"),
    ("x.to(tl.float8e5)", "TYPE"),
    ("x.to(tl.int64, bitcast=True)", "VALUE"),
    ('x.to(tl.float32, fp_downcast_rounding="rtz")', "VALUE"),
    ('tl.to_tensor("x")', "TYPE"),
    ("tl.broadcast(x, tl.arange(0, 8))", "SHAPE"),
    ("tl.broadcast_to(x, (8,))", "SHAPE"),
    ("tl.expand_dims(x, 3)", "VALUE"),
    ("tl.expand_dims(x, (0, 0))", "VALUE"),
    ("tl.reshape(x, (8,))", "VALUE"),
    ("tl.view(x, (8,))", "VALUE"),
    ("tl.item(x)", "VALUE"),
    ("x.item()", "VALUE"),
    ('tl.ravel("x")', "TYPE"),
    ("tl.trans(x)", "VALUE"),
    ("tl.trans(x, (1,))", "VALUE"),
    ("tl.permute(x, (1,))", "VALUE"),
    ("tl.cat(x, x[:, None])", "SHAPE"),
    ("tl.cat(x, x.to(tl.float32))", "TYPE"),
    ("tl.join(x, tl.arange(0, 8))", "SHAPE"),
    ("tl.join(x, x.to(tl.float32))", "TYPE"),
    ("tl.split(x)", "VALUE"),
    ("tl.interleave(x, tl.arange(0, 8))", "SHAPE"),
    ("tl.interleave(x, x.to(tl.float32))", "TYPE"),
    ("tl.gather(x, x.to(tl.float32), 0)", "TYPE"),
    ("tl.gather(x, x[:, None], 0)", "SHAPE"),
    ("tl.gather(x, x, 2)", "VALUE"),
    ("tl.histogram(x.to(tl.float32), 4)", "TYPE"),
    ("tl.histogram(x[:, None], 4)", "VALUE"),
    ("tl.histogram(x, 0)", "VALUE"),
    ("tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((32, 16), tl.float16))", "SHAPE"),
    ("tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float32))", "TYPE"),
    ("tl.load(x)", "TYPE"),
    ("tl.load(p, other=1.0)", "VALUE"),
    (
        "tl.load(tl.make_block_ptr(x_ptr, (64,), (1,), (0,), (4,), (0,)), mask=x < 2)",
        "VALUE",
    ),
    ("tl.store(x, 1)", "TYPE"),
    ("tl.store(p, tl.zeros((8,), tl.float32))", "SHAPE"),
    ("tl.store(x_ptr, x)", "VALUE"),
    ("tl.make_block_ptr(x_ptr, (64,), (1, 1), (0,), (4,), (0,))", "VALUE"),
    ("tl.make_block_ptr(x, (64,), (1,), (0,), (4,), (0,))", "VALUE"),
    (
        "tl.advance(tl.make_block_ptr(x_ptr, (64,), (1,), (0,), (4,), (0,)), (1, 2))",
        "VALUE",
    ),
    ("tl.make_tensor_descriptor(x_ptr, [8, 8], [8, 2], [2, 4])", "VALUE"),
    ("tl.make_tensor_descriptor(x_ptr, [8, 8], [8, 1], [2, 2])", "VALUE"),
    (
        "tl.load_tensor_descriptor(tl.make_tensor_descriptor(x_ptr, [64], [1], [4]), [1, 2])",
        "VALUE",
    ),
    (
        "tl.store_tensor_descriptor(tl.make_tensor_descriptor(x_ptr, [64], [1], [4]), [1, 2], x)",
        "VALUE",
    ),
    (
        "tl.store_tensor_descriptor(tl.make_tensor_descriptor(x_ptr, [64], [1], [4]), [1], tl.zeros((8,), tl.float32))",
        "SHAPE",
    ),
    ("tl.atomic_add(i_ptr.to(tl.pointer_type(tl.int8)) + x, 1)", "TYPE"),
    ('tl.atomic_add(p, 1.0, sem="foo")', "VALUE"),
    ('tl.atomic_add(p, 1.0, scope="foo")', "VALUE"),
    ("tl.atomic_and(i_ptr.to(tl.pointer_type(tl.int8)), 1)", "TYPE"),
    ('tl.atomic_cas(i_ptr, 1, 2, sem="foo")', "VALUE"),
    ("tl.exp(x)", "TYPE"),
    ("tl.abs(p)", "TYPE"),
    ("tl.sqrt_rn(x)", "TYPE"),
    ("tl.fma(x, 2, 1)", "TYPE"),
    ("tl.fdiv(x, 2)", "TYPE"),
    ("tl.div_rn(x, 2)", "TYPE"),
    ("tl.logical_and(x, x)", "TYPE"),
    ("tl.maximum(x, tl.arange(0, 8))", "SHAPE"),
    ("tl.maximum(p, p)", "TYPE"),
    ("tl.clamp(x, 0, 1)", "TYPE"),
    ("tl.where(x < 0, p, 1)", "TYPE"),
    ("tl.where(x < 0, tl.arange(0, 8), 1)", "SHAPE"),
    ("tl.cdiv(x.to(tl.float32), 2)", "TYPE"),
    ("tl.sum(1, 0)", "VALUE"),
    ("tl.sum(x, 1)", "VALUE"),
    ("tl.sum(p)", "TYPE"),
    ("tl.max(x, 1)", "VALUE"),
    ("tl.max(p, 0)", "TYPE"),
    ("tl.argmax(p, 0)", "TYPE"),
    ("tl.xor_sum(x.to(tl.float32))", "TYPE"),
    ("tl.reduce_or(x.to(tl.float32), 0)", "TYPE"),
    ("tl.cumsum(x, 1)", "VALUE"),
    ("tl.cumsum(p, 0)", "TYPE"),
    ("tl.reduce(x, 1, pick)", "VALUE"),
    ("tl.reduce(x, 0, cmp)", "TYPE"),
    ("tl.associative_scan(x, 1, pick)", "VALUE"),
    ("tl.multiple_of(x, (2, 2))", "VALUE"),
    ("tl.assume(x < 1)", "CONDITION"),
    ("tl.static_assert(x.shape[0] == 5)", "STATIC_ASSERT"),
    ("tl.static_assert(tl.load(i_ptr) == 5)", "VALUE"),
    ("tl.device_print(5)", "TYPE"),
    ("tl.softmax(x.to(tl.float32), 1)", "VALUE"),
    ("tl.swizzle2d(1.0, 2.0, 3, 4, 2)", "TYPE"),
    ("tl.flip(x, 1)", "STATIC_ASSERT"),
    ("tl.sort(x[:, None], 0)", "STATIC_ASSERT"),
    ("tl.topk(x, 8)", "STATIC_ASSERT"),
    ("tl.topk(x, 0)", "STATIC_ASSERT"),
    ("tl.philox(7, x.to(tl.int8), x, x, x)", "STATIC_ASSERT"),
    ("tl.uint_to_uniform_float(x.to(tl.int8))", "STATIC_ASSERT"),
    ('tl.dot_scaled(x, None, "foo", x, None, "bf16")', "STATIC_ASSERT"),
    ("tl.umulhi(x.to(tl.int8), x.to(tl.int8))", "TYPE"),
    ("[i for i in tl.static_range(tl.load(i_ptr))]", "VALUE"),
    ("tl.randint4x(7, p)", "TYPE"),
    ("tl.pair_uniform_to_normal(p, p)", "TYPE"),
    ('tl.load(p, cache_modifier="foo")', "VALUE"),
    ("tl.load(p, mask=x)", "TYPE"),
    ("tl.load(p, mask=tl.arange(0, 8) < 3)", "SHAPE"),
    ("tl.softmax(x, 0)", "TYPE"),
    ("tl.sort(p)", "TYPE"),
    ("tl.dot(x, x)", "VALUE"),
    ("tl.exp(tl.zeros((4,), tl.float16))", "TYPE"),
    ("tl.sigmoid(x)", "TYPE"),
]

HEAD = """
import tegula
import tegula.language as tl


@tegula.jit
def pick(a, b):
    return a


@tegula.jit
def cmp(a, b):
    return a < b


@tegula.jit
def kernel(x_ptr, i_ptr):
    x = tl.arange(0, 4)
    p = x_ptr + x
    r = """


@pytest.mark.parametrize(("code", "error"), ROWS, ids=[code for code, _ in ROWS])
def test_error(code: str, error: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(f"{HEAD.lstrip()}{code}\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("bad", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(tegula.CompileError) as caught:
        module.kernel.lower("*fp32", "*i32")
    codes = re.findall(r"CompileError\[(\w+)\]", str(caught.value))
    assert codes[-1:] == [error], str(caught.value)
    # What was raised is what the docstring says.
    name = re.match(r"\[?(?:\w+ for i in )?(?:tl|x)\.(\w+)", code)[1]
    name = {"to": "cast"}.get(name, name)
    doc = getattr(tegula.language, name).__doc__
    assert f"CompileError[{error}]" in doc, f"{name} does not document {error}"
