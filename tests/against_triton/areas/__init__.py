"""All cases, from the files beside this one."""

from __future__ import annotations

from collections import Counter

from case import Case

from . import (
    across,
    casts,
    control,
    descriptors,
    dots,
    elementwise,
    functions,
    literals,
    memory,
    programs,
    shapes,
    wider,
)

FILES = (
    elementwise,
    literals,
    casts,
    functions,
    across,
    shapes,
    wider,
    memory,
    dots,
    descriptors,
    control,
    programs,
)


def make() -> list[Case]:
    cases = [case for file in FILES for case in file.make()]
    twice = [name for name, n in Counter(c.name for c in cases).items() if n > 1]
    assert not twice, f"two cases of one name: {twice[:3]}"
    return cases
