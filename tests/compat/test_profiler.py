"""The profiler on the CPU: scopes, counts, metadata of launches."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import knobs, profiler
from tegula.profiler import viewer


@tegula.jit(
    launch_metadata=lambda grid, meta, args: {"name": "fill it", "bytes": 4 * args["n"]}
)
def fill(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 1.0, mask=at < n)


def test_profile(tmp_path, capsys):
    x = np.zeros(100, np.float32)
    name = str(tmp_path / "p")
    n_before = profiler._profiler.n_started
    session = profiler.start(name, hook="triton")
    assert session == n_before  # Triton's tutorial 09 calls its first one 0
    with profiler.scope("outer", {"steps": 2}):
        fill[(2,)](x, 100, BLOCK=64)
        fill[(2,)](x, 100, BLOCK=64)
    profiler.deactivate(session)
    fill[(2,)](x, 100, BLOCK=64)
    profiler.activate(session)
    profiler.scope("decorated")(fill[(2,)])(x, 100, BLOCK=64)
    profiler.finalize()
    assert not knobs.runtime.launch_enter_hook
    root = json.loads((tmp_path / "p.hatchet").read_text())[0]
    outer, decorated = root["children"]
    assert (
        outer["metrics"] == {"steps": 2} and decorated["frame"]["name"] == "decorated"
    )
    (leaf,) = outer["children"]
    assert leaf["frame"]["name"] == "fill it"
    assert leaf["metrics"]["count"] == 2 and leaf["metrics"]["bytes"] == 800
    assert leaf["metrics"]["time (ns)"] > 0
    viewer.show(f"{name}.hatchet", ("time/ms", "count", "gbyte/s"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[1:] == ["3.000", "0.000", "ROOT"] and len(lines) == 6
    with pytest.raises(ValueError):
        profiler.finalize(output_format="chrome")
