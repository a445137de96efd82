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
    count, _, root = lines[1].split()[1:]
    assert (count, root) == ("3.000", "ROOT") and len(lines) == 6
    with pytest.raises(ValueError):
        profiler.finalize(output_format="chrome")


@tegula.jit
def add_one(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


def test_bytes_and_flops_are_counted_where_nobody_tells_them(tmp_path, capsys):
    x = np.zeros(100, np.float32)
    session = profiler.start(str(tmp_path / "p"))
    with profiler.scope("outer"):
        add_one[(2,)](x, 100, BLOCK=64)
        add_one[(1,)](x, 50, BLOCK=64)
    profiler.finalize(session)
    (outer,) = json.loads((tmp_path / "p.hatchet").read_text())[0]["children"]
    (leaf,) = outer["children"]
    assert leaf["metrics"]["bytes"] == 2 * 4 * (100 + 50)
    assert leaf["metrics"]["flops"] == 3 * 64
    # What a scope shows is the sum of what is below it.
    assert viewer._value(outer, "bytes") == 1200


def test_a_trace_has_each_launch_with_its_time(tmp_path):
    x = np.zeros(100, np.float32)
    session = profiler.start(str(tmp_path / "p"), data="trace")
    with profiler.scope("outer"):
        add_one[(2,)](x, 100, BLOCK=64)
    add_one[(2,)](x, 100, BLOCK=64)
    profiler.finalize(session)
    first, second = json.loads((tmp_path / "p.chrome_trace").read_text())["traceEvents"]
    assert first["name"] == second["name"] == "add_one" and first["ph"] == "X"
    assert first["args"] == {"scopes": ["outer"], "bytes": 800, "flops": 128}
    assert second["args"]["scopes"] == []
    assert 0 <= first["ts"] < first["ts"] + first["dur"] <= second["ts"]


def test_what_is_no_trace_cannot_be_written_as_one(tmp_path):
    session = profiler.start(str(tmp_path / "p"))
    with pytest.raises(ValueError, match='begins with data="trace"'):
        profiler.finalize(session, output_format="chrome_trace")
    profiler.finalize(session)
    with pytest.raises(ValueError, match="data is 'tree' or 'trace'"):
        profiler.start("p", data="pictures")


def test_as_a_command(tmp_path, capsys, monkeypatch):
    from tegula.profiler.__main__ import main

    script = tmp_path / "work.py"
    script.write_text(
        "import numpy as np, tegula, tegula.language as tl\n"
        "@tegula.jit\n"
        "def fill(x_ptr, N: tl.constexpr):\n"
        "    tl.store(x_ptr + tl.arange(0, N), 1.0)\n"
        "fill[(1,)](np.zeros(64, np.float32), N=64)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["profiler"])
    monkeypatch.setattr("sys.path", list(__import__("sys").path))
    assert main([str(script)]) == 0
    said = capsys.readouterr().out
    assert main(["work.hatchet"]) == 0
    assert capsys.readouterr().out == said
    head, root, fill_line = said.splitlines()
    assert head.split() == ["time/ms", "avg_time/us", "count", "gbyte/s", "gflop/s"]
    assert root.endswith("ROOT") and fill_line.split()[2] == "1.000"
    assert main(["--trace", "-n", "t", str(script)]) == 0
    assert "ui.perfetto.dev" in capsys.readouterr().out
    assert json.loads((tmp_path / "t.chrome_trace").read_text())["traceEvents"]
