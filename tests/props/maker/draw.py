"""Where choices come from: hypothesis, which can shrink them, or a seed.

The first of a list is the simplest: a failure is shrunk towards it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Draw:
    """Choices, all made of numbers below n."""

    def below(self, n: int) -> int:
        raise NotImplementedError

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def chance(self, percent: int) -> bool:
        """False is the simpler one."""
        return self.below(100) >= 100 - percent

    def between(self, low: int, high: int) -> int:
        """Ends included."""
        return low + self.below(high - low + 1)

    def weighted(self, items: Sequence[tuple[int, T]]) -> T:
        at = self.below(sum(weight for weight, _ in items))
        for weight, item in items:
            at -= weight
            if at < 0:
                return item
        raise AssertionError


class Seeded(Draw):
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def below(self, n: int) -> int:
        return self.random.randrange(n)


class Shrinking(Draw):
    """Hypothesis decides; draw is what @composite functions are given."""

    _known: dict[int, Any] = {}

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw

    def below(self, n: int) -> int:
        from hypothesis import strategies as st

        if n not in self._known:
            self._known[n] = st.integers(0, n - 1)
        return self.draw(self._known[n])
