"""A kernel and how it is launched; as text, so that a failure can be kept in a file.

The first line of such a file is a comment with everything but the kernel.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tegula.tools.tensor_descriptor import TensorDescriptor

HEAD = "# case: "
# The whole numbers up to 4 by their bits; float8e4b15 ends at 1.75.
WHOLE = {
    "float8e5": [0, 60, 64, 66, 68],
    "float8e4nv": [0, 56, 64, 68, 72],
    "float8e4b15": [0, 120, 248, 120, 0],
    "float8e4b8": [0, 64, 72, 76, 80],
    "float8e5b16": [0, 64, 68, 70, 72],
}
BITS_OF = {"bfloat16": np.uint16} | dict.fromkeys(WHOLE, np.uint8)


@dataclass
class Param:
    """An array of the launch.

    role: in     random elements; whole: small whole numbers
          out    zeros, compared bit by bit
          near   zeros, float64, compared with a tolerance
          work   zeros, not compared
          zero   zeros, and so they must stay
    """

    name: str
    role: str
    dtype: str
    whole: bool
    n: int  # elements
    every: bool = False  # value of its type, where there are few
    of: str = ""  # the parameter in front of it whose array it is, too
    # Of a tensor that the host describes: sides, strides, block, padding.
    tensor: list = field(default_factory=list)

    def given(self, array: Any) -> Any:
        """What a launch passes for it."""
        if not self.tensor:
            return array
        sides, strides, block, padding = self.tensor
        return TensorDescriptor(array, sides, strides, block, padding=padding)


@dataclass
class Case:
    text: str
    params: list[Param] = field(default_factory=list)
    n: int = 0  # the kernel's argument of that name
    big: int = 0  # the same, beyond 32 bits
    scale: float = 0.5
    seed: int = 0  # of the elements
    grid: int = 1  # programs
    rows: int = 1  # of them; the grid's second side
    streams: bool = False  # the CPU writes past its caches
    targets: list[str] = field(default_factory=lambda: ["cpu", "emu:sm_80"])
    options: dict[str, Any] = field(default_factory=dict)
    emu_seed: int = 0  # the order of warps

    def dump(self) -> str:
        facts = {k: v for k, v in asdict(self).items() if k != "text"}
        return f"{HEAD}{json.dumps(facts)}\n{self.text}"

    @staticmethod
    def load(source: str) -> Case:
        first, text = source.split("\n", 1)
        facts = json.loads(first.removeprefix(HEAD))
        params = [Param(**p) for p in facts.pop("params")]
        return Case(text=text, params=params, **facts)


def storage(dtype: str) -> np.dtype:
    return np.dtype(bool if dtype == "int1" else BITS_OF.get(dtype, dtype))


def elements(p: Param, rng: np.random.Generator) -> np.ndarray:
    """What an input holds."""
    t = storage(p.dtype)
    if p.every:
        return every(p.n, t, rng)
    if p.dtype == "int1":
        return rng.integers(0, 2, p.n).astype(bool)
    if p.dtype in BITS_OF and not p.whole:
        return rng.integers(0, np.iinfo(t).max, p.n, dtype=t, endpoint=True)
    if "int" in p.dtype:
        x = rng.integers(np.iinfo(t).min, np.iinfo(t).max, p.n, dtype=t, endpoint=True)
        x[::3] = rng.integers(0, 20, x[::3].shape).astype(t)
        return x
    x = rng.integers(-9, 10, p.n).astype(np.float32)
    if p.dtype == "bfloat16":
        return (x.view(np.uint32) >> 16).astype(np.uint16)
    if p.dtype in WHOLE:
        return np.array(WHOLE[p.dtype], np.uint8)[np.abs(x).astype(int) % 5]
    if not p.whole:
        x = (rng.standard_normal(p.n) * np.exp2(rng.integers(-6, 12, p.n))).astype(t)
        x[::29] = rng.choice(
            np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], t), x[::29].shape
        )
    return x.astype(t)


def every(n: int, t: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """All values of 8 or 16 bits, as often as n allows; of more bits few powers of two."""
    bits = 8 * t.itemsize
    word = np.dtype(f"u{t.itemsize}")
    if bits <= 16:
        x = np.arange(n) % 2**bits if n >= 2**bits else rng.integers(0, 2**bits, n)
        return rng.permutation(x).astype(word).view(t)

    def powers() -> np.ndarray:
        return np.uint64(1) << rng.integers(0, bits, n).astype(np.uint64)

    x = powers() + rng.choice(np.array([0, 0, 1, 2**64 - 1], np.uint64), n)
    x ^= powers() * rng.integers(0, 2, n).astype(np.uint64)
    x ^= rng.choice(np.array([0, 0, 2**64 - 1], np.uint64), n)
    some = rng.integers(0, 2**64 - 1, n, np.uint64) >> np.uint64(64 - bits)
    return np.where(rng.integers(0, 2, n) > 0, x, some).astype(word).view(t)
