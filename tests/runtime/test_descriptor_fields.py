"""A launch sees what became of a descriptor: its fields, their lists, its class."""

from __future__ import annotations

import copy
import pickle
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.tools.tensor_descriptor import TensorDescriptor


@tegula.jit
def total(desc, out):
    i = tl.arange(0, 1)
    x = desc.load([0, 0])
    tl.store(out + i, tl.sum(tl.sum(x, axis=1), axis=0))


def run(desc: Any) -> float:
    out = np.zeros(1, np.float32)
    total[(1,)](desc, out)
    return float(out[0])


def ramp(n: int = 64) -> np.ndarray:
    return np.arange(n, dtype=np.float32).reshape(-1, 8)


def descriptor(x: Any = None) -> TensorDescriptor:
    x = ramp() if x is None else x
    desc = TensorDescriptor(x, [8, 8], [8, 1], [4, 4])
    for _ in range(3):  # it is known
        assert run(desc) == 216
    return desc


def test_fields_that_are_set():
    desc = descriptor()
    desc.base = ramp() + 1
    assert run(desc) == 216 + 16
    desc.shape = [2, 8]
    assert run(desc) == 44 + 8
    desc.shape = (8, 2)
    assert run(desc) == (0 + 1 + 8 + 9 + 16 + 17 + 24 + 25) + 8
    desc.shape, desc.strides = [8, 8], [4, 1]
    assert run(desc) == sum(range(16)) + 16
    desc.strides, desc.block_shape = [8, 1], [8, 8]
    assert run(desc) == sum(range(64)) + 64
    desc.shape, desc.padding = [4, 8], "nan"
    assert np.isnan(run(desc))
    desc.padding = "zero"
    assert run(desc) == sum(range(32)) + 32


def test_lists_that_are_changed():
    desc = descriptor()
    desc.shape[0] = 2
    assert run(desc) == 44
    desc.shape[0] = 8
    assert run(desc) == 216
    desc.strides[0] = 4
    assert run(desc) == sum(range(16))
    desc.strides[0] = 8
    desc.block_shape[:] = [8, 8]
    assert run(desc) == sum(range(64))
    desc.block_shape.append(1)
    with pytest.raises(ValueError, match="shape has 2 sides, block_shape has 3"):
        run(desc)
    desc.block_shape.pop()
    desc.shape[1] = 8.5
    with pytest.raises(TypeError, match="shape must be integers"):
        run(desc)


def test_another_element_type_and_what_is_no_tensor():
    desc = descriptor()
    desc.base = np.arange(64, dtype=np.float64).reshape(8, 8)
    assert run(desc) == 216
    desc.base = (1, 2)
    with pytest.raises((TypeError, tegula.CompilationError)):
        run(desc)
    desc.base = ramp()
    assert run(desc) == 216
    del desc.shape
    with pytest.raises(AttributeError, match="shape"):
        run(desc)


def test_descriptors_that_take_turns():
    a, b = descriptor(), descriptor(ramp())
    b.block_shape = [8, 8]
    for _ in range(3):
        assert run(a) == 216 and run(b) == sum(range(64))


def test_a_class_that_computes_its_fields():
    class Lazy(TensorDescriptor):
        shape = property(lambda self: [self.rows, 8], lambda self, value: None)

    desc: Any = Lazy.__new__(Lazy)
    desc.base, desc.strides, desc.block_shape = ramp(), [8, 1], [4, 4]
    desc.padding, desc.round_f32_to_tf32, desc.rows = "zero", False, 8
    assert run(desc) == run(desc) == 216
    desc.rows = 2
    assert run(desc) == 44


def test_it_is_a_dataclass_that_takes_other_attributes():
    desc = descriptor()
    desc.mine = 7
    assert replace(desc, shape=[2, 8]).shape == [2, 8]
    assert copy.copy(desc).mine == 7
    again = pickle.loads(pickle.dumps(desc))
    assert again.shape == [8, 8] and run(again) == 216


def test_nothing_is_kept_of_a_descriptor():
    x = ramp()
    desc = descriptor(x)
    before = sys.getrefcount(x), sys.getrefcount(desc), sys.getrefcount(desc.shape)
    for _ in range(100):
        run(desc)
    assert before == (
        sys.getrefcount(x),
        sys.getrefcount(desc),
        sys.getrefcount(desc.shape),
    )
