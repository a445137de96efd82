"""Where choices come from: a seed. The first of a list is the simplest."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Choices, all made of numbers below n."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def below(self, n: int) -> int:
        return self.random.randrange(n)

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
