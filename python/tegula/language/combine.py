"""The functions that reductions combine two elements with, under Triton's names.

``tl.sum`` and the others have theirs in C. These are for kernels that hand one to
``tl.reduce`` or ``tl.associative_scan`` themselves.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from tegula.jit import jit

from . import core
from .math import maximum, minimum, where


@jit
def _sum_combine(a, b):
    return a + b


@jit
def _prod_combine(a, b):
    return a * b


@jit
def _xor_combine(a, b):
    return a ^ b


@jit
def _or_combine(a, b):
    return a | b


@jit
def _elementwise_max(a, b):
    return maximum(a, b)


@jit
def _elementwise_min(a, b):
    return minimum(a, b)


@jit
def _argmax_combine(value1, index1, value2, index2, tie_break_left: core.constexpr):
    takes_first = value1 > value2
    if tie_break_left:
        takes_first = takes_first | ((value1 == value2) & (index1 < index2))
    return where(takes_first, value1, value2), where(takes_first, index1, index2)


@jit
def _argmin_combine(value1, index1, value2, index2, tie_break_left: core.constexpr):
    takes_first = value1 < value2
    if tie_break_left:
        takes_first = takes_first | ((value1 == value2) & (index1 < index2))
    return where(takes_first, value1, value2), where(takes_first, index1, index2)


@jit
def _argmax_combine_tie_break_left(value1, index1, value2, index2):
    return _argmax_combine(value1, index1, value2, index2, True)


@jit
def _argmax_combine_tie_break_fast(value1, index1, value2, index2):
    return _argmax_combine(value1, index1, value2, index2, False)


@jit
def _argmin_combine_tie_break_left(value1, index1, value2, index2):
    return _argmin_combine(value1, index1, value2, index2, True)


@jit
def _argmin_combine_tie_break_fast(value1, index1, value2, index2):
    return _argmin_combine(value1, index1, value2, index2, False)
