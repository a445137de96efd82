"""The pictures say what is counted; the counts are right."""

from __future__ import annotations

import numpy as np
import pytest

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
