"""The pictures say what is counted; the counts are right."""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import viz

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def closed():
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_sectors():
    lane = np.arange(32)
    counts = [viz.count_sectors(lane * step, 4) for step in (0, 1, 2, 8, 100)]
    assert counts == [1, 4, 8, 32, 32]
    assert (
        viz.sectors(lane * 2).get_title() == "8 sectors: 256 bytes move for 128 (50%)"
    )


def test_banks():
    lane = np.arange(32)
    counts = [viz.count_conflicts(lane * step) for step in (0, 1, 2, 32, 33)]
    assert counts == [1, 1, 2, 32, 1]  # a word that all want is told to all at once
    assert viz.banks(lane * 2).get_title() == "a conflict: 2 times as long"


def test_tiles():
    ax = viz.tiles((90, 70), (32, 32))
    assert [t.get_text() for t in ax.texts] == [str(i) for i in range(9)]
    with pytest.raises(ValueError, match="programs 0 and 1 share tile 0, 0"):
        viz.tiles((64, 64), (32, 32), lambda pid: (0, 0))


def test_lanes_steps_roofline():
    i = np.arange(8)
    assert viz.lanes(i, i < 5).get_title() == "5 of 8 places are in use"
    ax = viz.steps({"load": [(0, 2), (2, 4)], "compute": [(2, 3)]})
    assert len(ax.patches) == 3
    ax = viz.roofline({"add": (0.08, 250)}, tflops=60, gbs=3300)
    top = ax.lines[0].get_ydata()
    assert top.max() == 60e3 and top[0] == pytest.approx(33)
    ax = viz.steps({"slot": [(0, 2, 0), (3, 5, 3)]})
    assert [t.get_text() for t in ax.texts] == ["0", "3"]


@tegula.jit
def window(x, z, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n) + tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(z + i, a, mask=i < n)


def test_accesses():
    x, z = np.arange(10, dtype=np.float32), np.zeros(12, np.float32)
    found = viz.record(window, (3,), x, z, 10, B=4)
    assert not z.any()  # as it was
    assert len(found) == 29 and found["bytes"].sum() == 4 * 29
    loads, who = viz.touched(x, found, False)
    assert loads.tolist() == [1, 1, 1, 1, 2, 1, 1, 1, 2, 1]
    assert who[[0, 3, 5, 9]].tolist() == [0, 0, 1, 2]
    stores, who = viz.touched(z, found, True)
    assert stores.tolist() == [1] * 10 + [0, 0]
    assert who.tolist() == [0] * 4 + [1] * 4 + [2] * 2 + [0] * 2
    axes = viz.accesses(window, (3,), x, z, 10, B=4)
    assert [ax.get_title() for ax in axes] == [
        "x, loaded: 10 of 10, some by 2 programs",
        "z, stored: 10 of 12, a program each",
    ]


def test_one_program_is_drawn_in_its_order():
    x = np.zeros((2, 3), np.float32)

    @tegula.jit
    def backwards(x):
        for i in range(6):
            tl.store(x + 5 - i, 1.0)

    found = viz.record(backwards, (1,), x)
    assert viz.touched(x, found, True)[1].tolist() == [[5, 4, 3], [2, 1, 0]]


def test_nothing_is_recorded_behind_an_error():
    x = np.zeros(4, np.float32)
    with pytest.raises(tegula.errors.OutOfBoundsError):
        viz.record(window, (2,), x, np.zeros(2, np.float32), 4, B=4)
    tegula.jit(window.fn, interpret=True)[(1,)](x, x.copy(), 4, B=4)
    assert len(viz.record(window, (1,), x, x.copy(), 2, B=2)) == 5
