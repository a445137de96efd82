"""Random kernels: tests/props/maker, restricted to what Triton has and defines.

A seed whose kernel Triton still refuses is no difference; compare.py counts it apart.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from case import Arg, Array, Case, Constant, Scalar
from element_types import storage

sys.path.insert(0, str(Path(__file__).parents[2] / "props"))

from maker.case import Case as Made
from maker.case import elements
from maker.draw import Draw
from maker.kernel import make as random_kernel

COUNT = int(os.environ.get("AGAINST_TRITON_PROGRAMS", "600"))
FIRST = int(os.environ.get("AGAINST_TRITON_SEED", "0"))

# What the kernels' helpers are, in the language of both.
HELPERS = """
@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def first(a, b):
    return a


@triton.jit
def both(a, b):
    return b, a


@triton.jit
def twice(a, times: tl.constexpr):
    for _ in tl.static_range(times):
        a = a + a
    return a


@triton.jit
def affine(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def branchy(a, b):
    c = a
    if a > b:
        c = b
    elif b == 3:
        c = b + b
    elif a < b:
        c = a + b
    return c


@triton.jit
def top(a, i, b, j):
    left = (a > b) | ((a == b) & (i < j))
    return tl.where(left, a, b), tl.where(left, i, j)
"""


def case(seed: int) -> Case:
    made: Made = random_kernel(Draw(seed), plain=True)
    body = made.text.split("def kernel(", 1)[1].split(":\n", 1)[1]
    rng = np.random.default_rng(made.seed)
    args: list[Arg] = []
    given = {}
    for p in made.params:
        kind = "given" if p.role == "in" else "zero" if p.role != "work" else "given"
        n = max(p.n, 1)
        # Types that NumPy has not come as bits, and the kernel says what they are.
        bits = storage(p.dtype).name if p.dtype not in ("int1",) else "int1"
        args.append(Array(p.name, bits, kind, n, seed))
        if p.role == "in":
            given[p.name] = elements(p, rng)
        elif p.role == "work":
            given[p.name] = np.zeros(n, storage(p.dtype))
    options = dict(made.options)
    args += [Scalar("n", made.n), Scalar("big", made.big), Scalar("scale", made.scale)]
    args.append(Constant("C", options.pop("C")))
    return Case(
        f"program/{seed}",
        tuple(args),
        textwrap.dedent(body).rstrip(),
        helpers=HELPERS,
        warps=options.pop("num_warps"),
        grid=made.grid,
        rows=made.rows,
        options=options | {"enable_fp_fusion": False},
        given=given,
        near=tuple(p.name for p in made.params if p.role == "near"),
    )


def make() -> Iterator[Case]:
    return map(case, range(FIRST, FIRST + COUNT))
