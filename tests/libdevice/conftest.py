"""`call(fn, *arrays)`: a function of tl.extra.libdevice, on every target alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from calling import on, same


@pytest.fixture
def call() -> Any:
    """On the CPU; a part of it on the emulator and in the interpreter, with equal bits."""

    def run(
        fn: Any, *args: np.ndarray, out: Any = None, sample: int = 512
    ) -> np.ndarray:
        want = on("cpu", fn, *args, out=out)
        step = max(1, len(want) // sample)
        few = [a[::step] for a in args]
        for target in ("emu:sm_80", "interpreter"):
            got = on(target, fn, *few, out=out)
            bad = np.flatnonzero(~same(got, want[::step]))
            assert not len(bad), (
                target,
                fn.__name__,
                [a[bad[0]] for a in few],
                got[bad[0]],
                want[::step][bad[0]],
            )
        return want

    return run
