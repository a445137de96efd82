"""Random arguments of all kinds: an exception or a launch, never the end of the process."""

from __future__ import annotations

import random
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl

Pair = namedtuple("Pair", "a b")


@tegula.jit
def kernel(x, y, n, s: "fp64", c: tl.constexpr, d=None, B: tl.constexpr = 16):  # noqa: F821, UP037
    tl.program_id(0) + B  # touches no memory: what it is given may be anything


class RaisesInEq:
    def __eq__(self, other: object) -> bool:
        raise LookupError("eq")

    def __hash__(self) -> int:
        return 1


class RaisesInGetattr:
    def __getattr__(self, name: str) -> Any:
        raise LookupError(name)


class BadExchange:
    __dlpack_c_exchange_api__ = 5
    dtype = 3

    def data_ptr(self) -> str:
        return "x"


class BadCapsule:
    def __dlpack__(self, **kwargs: Any) -> int:
        return 7


class BadInterface:
    __array_interface__ = {"data": 7}


class BadCudaInterface:
    __cuda_array_interface__ = {"data": (1, 2, 3), "typestr": 5}


class BadIndex:
    def __index__(self) -> int:
        raise LookupError("index")


class MyInt(int):
    pass


class MyFloat(float):
    pass


class MyTuple(tuple):
    pass


F = np.zeros(64, np.float32)
NUMBERS = [
    0, 1, 16, -1, 2**31, 2**62, 2**63, 2**70, -(2**63), 1.5, float("nan"), -0.0, True,
]  # fmt: skip
OBJECTS = [
    None, False, "s", b"b", (), (1,), (1, (2, (F,))), Pair(F, 1), [1], {}, set(), int, len,
    object(), ..., range(3), memoryview(b"xx"), lambda: 0, tl, np, kernel, MyInt(4),
    MyFloat(2.0), MyTuple((1,)), RaisesInEq(), RaisesInGetattr(), BadExchange(),
    BadCapsule(), BadInterface(), BadCudaInterface(), BadIndex(), tl.float32,
    tl.constexpr(3), tl.constexpr([1]),
]  # fmt: skip
ARRAYS = [
    F, F[::2], F[:0], np.array(3), np.float32(2), np.int64(5), np.bool_(1),
    *(np.zeros(8, t) for t in ("f8", "i1", "?", "c16", ">f4", "S3", "O", "M8[s]")),
]  # fmt: skip
NAMES = (
    "x y n s c d B num_warps num_stages num_ctas maxnreg debug grid zz stream warmup target"
).split()
GRIDS = [
    (1,), (0,), (1, 1, 1), 5, [2], (), (1,) * 4, lambda m: (1,), lambda m: None, None, "a",
    (1.5,), (None,), (2**40,), (-1,),
]  # fmt: skip
PLAIN = [F, F, 8, 1.0, 3]


def torch_things() -> list[Any]:
    try:
        import torch
    except ImportError:
        return []
    return [
        torch.zeros(64),
        torch.zeros(8, dtype=torch.bfloat16),
        torch.zeros(8, dtype=torch.complex64),
        torch.zeros(3, device="meta"),
        torch.eye(3).to_sparse(),
        torch.nn.Parameter(torch.zeros(4)),
        torch.float32,
        torch.tensor(3),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_random_calls(seed):
    pool = NUMBERS + OBJECTS + ARRAYS + torch_things()
    rng = random.Random(seed)
    n_launched = 0
    for _ in range(1500):
        args = [
            rng.choice(pool) if rng.random() < 0.4 else PLAIN[i % 5]
            for i in range(rng.choice([0, 3, 5, 5, 5, 5, 6, 7, 9]))
        ]
        kwargs = {
            rng.choice(NAMES): rng.choice(pool)
            for _ in range(rng.choice([0, 0, 0, 1, 2]))
        }
        grid = rng.choice(GRIDS) if rng.random() < 0.3 else (1,)
        how = rng.choice(["launch"] * 3 + ["run", "warmup", "compile", "lower"])
        try:
            if how == "launch":
                kernel[grid](*args, **kwargs)
            elif how == "run":
                kernel.run(*args, **{**kwargs, "grid": grid})
            else:
                getattr(kernel, how)(*args, **kwargs)
            n_launched += 1
        except (SystemError, tegula.errors.InternalError):
            raise
        except Exception as e:
            assert str(e), (how, args, kwargs)
    assert n_launched > 50
