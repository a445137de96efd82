"""A kernel and how it is launched; as text, so that a failure can be kept in a file.

The first line of such a file is a comment with everything but the kernel.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

HEAD = "# case: "


@dataclass
class Param:
    """An array of the launch.

    role: in     random elements; whole: small whole numbers
          out    zeros, compared bit by bit
          near   zeros, float64, compared with a tolerance
          work   zeros, not compared
    """

    name: str
    role: str
    dtype: str
    whole: bool
    n: int  # elements


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
    options: dict[str, int] = field(default_factory=dict)
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
