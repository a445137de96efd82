"""``python -m tegula bench``: what it measures, prints, keeps and draws."""

from __future__ import annotations

import importlib
import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import FunctionType

import pytest

from tegula.bench import cases, page, results
from tegula.bench.timing import Row


def rows(ours=2.0, theirs=3.0):
    common = {"n_bytes": 4e6, "error": 1e-7}
    return [
        Row("softmax", "memory", "forward", "tegula", ours, 0.1, **common),
        Row("softmax", "memory", "forward", "torch", theirs, 0.1, **common),
        Row("softmax", "memory", "forward", "triton", why="CompilationError: no"),
        Row("matmul", "products", "forward", "tegula", 1.0, n_bytes=1e6, flops=1e9),
        Row("matmul", "products", "forward", "torch", 0.5, n_bytes=1e6, flops=1e9),
    ]


def test_ratios_and_their_mean():
    assert results.ratios(rows(), "torch") == {
        ("softmax", "forward"): 1.5,
        ("matmul", "forward"): 0.5,
    }
    assert results.ratios(rows(), "triton") == {}
    assert results.geometric_mean([0.5, 2.0, 1.0]) == pytest.approx(1)
    text = results.summary(rows())
    assert "memory: 1.50 of torch in the geometric mean of 1" in text
    assert "least 0.50, matmul forward" in text


def test_errors_beside_torchs():
    found = rows()
    assert results.errors(found) == "no error is more than 1.5 of torch's"
    found[0].error = 1.6e-7
    assert results.errors(found).endswith("softmax forward: 1.6e-07, torch 1.0e-07")


def test_a_failure_is_a_row_that_says_why():
    line = next(t for t in results.table(rows()).split("\n") if "triton" in t)
    assert line.endswith("CompilationError: no")


def test_compare_takes_torch_as_the_measure():
    text = results.compare(rows(ours=4.0, theirs=3.0), rows(ours=2.0, theirs=1.5))
    # Twice as fast by the clock, and so was torch.
    assert text.split("\n")[1].split() == "softmax forward 4 2 2.00 1.00".split()
    assert "no case in common" in results.compare([], rows())


def test_a_file_comes_back(tmp_path):
    path = tmp_path / "deep" / "run.json"
    results.save(path, {"device": "cpu"}, rows())
    assert results.load(path) == ({"device": "cpu"}, rows())
    path.write_text(json.dumps({"other": 1}))
    with pytest.raises(ValueError, match="holds no results"):
        results.load(path)


class Tags(HTMLParser):
    """Collects tags and refuses one that is closed in the wrong order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone():
    run = {"machine": "a <CPU>", "peak_gb_per_s": 50.0, "peak_tflop_per_s": 1.0}
    text = page.page(run, rows())
    tags = Tags()
    tags.feed(text)
    assert not tags.open
    assert tags.seen.count("svg") == 2 and tags.seen.count("circle") == 4
    assert "a &lt;CPU&gt;" in text and "<script" not in text and "http" not in text
    assert "not known" in page.page({}, rows())  # no ceilings, no roofline


def test_the_command(tmp_path, capsys):
    """One op for real, kept, drawn and compared with itself."""
    from tegula.__main__ import main

    kept, drawn = tmp_path / "a.json", tmp_path / "a.html"
    options = ["--device", "cpu", "--rounds", "2", "--beside", "torch", "--forward"]
    assert main(["bench", "relu", *options, "--json", str(kept)]) == 0
    again = ["--compare", str(kept), "--html", str(drawn)]
    assert main(["bench", "relu", *options, *again]) == 0
    out = capsys.readouterr().out
    assert "then / now" in out and drawn.read_text().startswith("<!DOCTYPE html>")
    run, got = results.load(kept)
    assert run["device"] == "cpu" and run["peak_gb_per_s"] > 0
    assert [r.name for r in got] == ["relu"] * len(got) and got[0].ms > 0


@pytest.mark.parametrize(
    "words, message",
    [
        (["mish"], "no op mish; there are relu"),
        (["--beside", "jax"], "not jax"),
        (["--rounds", "1"], "2 or more"),
    ],
)
def test_what_is_refused(words, message):
    from tegula.__main__ import main

    with pytest.raises(SystemExit, match=message):
        main(["bench", "--device", "cpu", *words])


def test_a_case_names_an_op_or_what_is_made_of_one():
    from tegula import ops

    words = {w for name in cases.CASES for w in (name, *name.split("_"))}
    words.add("quantized_linear")  # of int8 and of int4
    public = {n for n, v in vars(ops).items() if isinstance(v, FunctionType)}
    public = {n for n in public if not n.startswith("_")}
    public -= {"quantize", "dequantize"}  # no kernels: they prepare weights
    assert public <= words, "an op without a case"


def test_what_the_kernels_benchmarks_run(monkeypatch):
    """make bench-kernels: all files with cases of a device, and no other program."""
    folder = Path(__file__).parents[2] / "benchmarks"
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "run", raising=False)
    run = importlib.import_module("run")
    monkeypatch.delitem(sys.modules, "run")
    assert run.benchmarks() == [
        "attention",
        "grouped",
        "launch",
        "layer_norm",
        "matmul",
        "memory",
        "softmax",
        "vector_add",
    ]
