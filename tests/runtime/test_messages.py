"""Messages between two processes, by atomics: messages.py, a few rounds of it."""

from __future__ import annotations

import messages


def test_two_processes() -> None:
    assert messages.run(3000, 100) == [0, 0]
