"""Pictures of what kernels do, for notebooks and slides: drawn by matplotlib.

    viz.tiles((96, 128), (32, 32), order)    which program covers which tile, in what order
    viz.lanes(offsets, mask)                 what each place of a block reads, or does not
    viz.accesses(kernel, grid, x, y, n, BLOCK=64)    which program touches which element
    viz.sectors(offsets, 4)                  which bytes a warp asks for: coalescing
    viz.banks(offsets)                       which banks of shared memory: conflicts
    viz.steps({"load": [(0, 4)], ..})        who works when: pipelines
    viz.roofline({"softmax": (1.2, 800)}, tflops=60, gbs=3300)

Those that take numbers (NumPy arrays of offsets in elements) draw on the axes given or new
ones and return the axes; what they count is in the title. ``accesses`` runs a kernel in the
interpreter and draws what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

SECTOR = 32  # bytes that memory delivers at least
BANKS = 32  # of 4 bytes each


def _axes(ax: Any, width: float = 7.0, height: float = 2.0) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height))[1]


def tiles(
    shape: tuple[int, int],
    block: tuple[int, int],
    order: Callable[[int], tuple[int, int]] | None = None,
    ax: Any = None,
) -> Any:
    """A matrix cut into tiles, each with the number of its program.

    order(pid) gives the tile's row and column; without one, row by row.
    """
    import numpy as np

    rows, cols = (-(-n // b) for n, b in zip(shape, block, strict=True))
    order = order or (lambda pid: divmod(pid, cols))
    ax = _axes(ax, 1 + 0.5 * cols, 1 + 0.5 * rows)
    number = np.full((rows, cols), -1)
    for pid in range(rows * cols):
        i, j = order(pid)
        if number[i, j] >= 0:
            raise ValueError(f"programs {number[i, j]} and {pid} share tile {i}, {j}")
        number[i, j] = pid
        ax.text(j, i, str(pid), ha="center", va="center", fontsize=8)
    ax.imshow(number, cmap="YlGnBu", alpha=0.6)
    ax.set_xticks(np.arange(cols) - 0.5, [str(j * block[1]) for j in range(cols)])
    ax.set_yticks(np.arange(rows) - 0.5, [str(i * block[0]) for i in range(rows)])
    ax.set_title(f"{shape[0]} x {shape[1]} in tiles of {block[0]} x {block[1]}")
    return ax


def lanes(offsets: Any, mask: Any = None, ax: Any = None) -> Any:
    """Places of a block and the elements they stand for; masked ones are grey."""
    import numpy as np

    offsets = np.asarray(offsets).ravel()
    mask = np.ones(len(offsets), bool) if mask is None else np.asarray(mask).ravel()
    ax = _axes(ax, 8, 1.2)
    tight = len(offsets) * max((len(str(at)) for at in offsets), default=0) > 100
    for i, (at, on) in enumerate(zip(offsets, mask, strict=True)):
        colour = "tab:blue" if on else "lightgrey"
        ax.add_patch(_box(i, 0, colour))
        if len(offsets) <= 40:  # else they would overlap
            turned = 90 if tight else 0
            ax.text(
                i + 0.5, 0.5, str(at), ha="center", va="center", fontsize=7,
                rotation=turned,
            )  # fmt: skip
    ax.set_xlim(0, len(offsets))
    ax.set_ylim(0, 1)
    ax.set_yticks([])
    ax.set_title(f"{int(mask.sum())} of {len(offsets)} places are in use")
    return ax


# csrc/runtime/record.c
_ACCESS: list[Any] = [
    ("address", "u8"),
    ("bytes", "i4"),
    ("line", "i4"),
    ("is_write", "i4"),
]
_ACCESS += [("pid", "i4", 3)]


def record(kernel: Any, grid: Any, *args: Any, **constants: Any) -> Any:
    """The accesses of a launch in the interpreter, in their order: address, bytes, line,
    is_write, pid. Arrays are given back as they were."""
    import numpy as np

    from tegula import _core, jit

    arrays = [a for a in args if hasattr(a, "shape")]
    before = [a.clone() if hasattr(a, "clone") else a.copy() for a in arrays]
    _core._record_start()
    try:
        jit(kernel.fn, interpret=True)[grid](*args, **constants)
    finally:
        found = _core._record_stop()
        for a, b in zip(arrays, before, strict=True):
            a[...] = b
    return np.frombuffer(found, _ACCESS)


def touched(array: Any, found: Any, is_write: bool) -> tuple[Any, Any]:
    """For each element how many programs load it, or store it, and a number: that of the
    program, or, where there is but one, the element's place in the order of accesses."""
    import numpy as np

    n = int(np.prod(array.shape))
    start = array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data
    at = (found["address"].astype(np.int64) - start) // (array.nbytes // n or 1)
    mine = (at >= 0) & (at < n) & (found["is_write"] == is_write)
    programs, pid = np.unique(found["pid"], axis=0, return_inverse=True)
    at, pid = at[mine], pid.ravel()[mine]
    pairs = np.unique(np.stack([at, pid], 1), axis=0)
    count = np.bincount(pairs[:, 0], minlength=n)
    number: Any = np.zeros(n, int)
    if len(programs) > 1:
        number[at] = pid
    else:
        each, first = np.unique(at, return_index=True)
        number[each[np.argsort(first)]] = np.arange(len(each))
    return count.reshape(array.shape), number.reshape(array.shape)


def accesses(kernel: Any, grid: Any, *args: Any, **constants: Any) -> Any:
    """A picture of what is loaded of each array and one of what is stored; white elements
    nobody touches. Colours are programs; where several touch one element, it is the darker
    the more there are; a single program is lighter where it comes later.

    Returns the axes. Arrays are contiguous, in the CPU's memory, and stay as they are.
    """
    import matplotlib.pyplot as plt

    found = record(kernel, grid, *args, **constants)
    names = [
        n for n, x in zip(kernel.arg_names, args, strict=False) if hasattr(x, "shape")
    ]
    arrays = [x for x in args if hasattr(x, "shape")]
    pictures = [
        (f"{name}, {'stored' if is_write else 'loaded'}", *touched(x, found, is_write))
        for name, x in zip(names, arrays, strict=True)
        for is_write in (False, True)
    ]
    pictures = [p for p in pictures if p[1].any()]
    heights = [1.0 if p[1].ndim < 2 else 2.5 for p in pictures]
    axes = plt.subplots(
        len(pictures), 1, figsize=(8, sum(heights) + 0.4 * len(heights)),
        height_ratios=heights, squeeze=False, layout="constrained",
    )[1][:, 0]  # fmt: skip
    for ax, picture in zip(axes, pictures, strict=True):
        _draw_accesses(ax, *picture, alone=len({*map(tuple, found["pid"])}) == 1)
    return axes


def _draw_accesses(ax: Any, name: str, count: Any, number: Any, alone: bool) -> None:
    import numpy as np

    most = int(count.max())
    shown, colours, top = number, "viridis", int(number.max()) or 1
    if not alone:
        shown, colours, top = number % 20, "tab20", 19
    if most > 1:
        shown, colours, top = count, "Blues", most
    shape = (1, -1) if count.ndim < 2 else (-1, count.shape[-1])
    shown = np.ma.masked_where(count == 0, shown).reshape(shape)
    ax.imshow(
        shown, cmap=colours, vmin=0, vmax=top, aspect="auto", interpolation="nearest"
    )
    if len(shown) == 1:
        ax.set_yticks([])
    who = "in this order" if alone else "a program each"
    if most > 1:
        who = f"some by {most} programs" if count.min() < most else f"each by {most}"
    ax.set_title(f"{name}: {int((count > 0).sum())} of {count.size}, {who}", fontsize=9)


def _box(x: float, y: float, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white")


def count_sectors(offsets: Any, itemsize: int) -> int:
    """Pieces of 32 bytes that a warp's access to these elements moves."""
    import numpy as np

    return len(np.unique(np.asarray(offsets).ravel() * itemsize // SECTOR))


def sectors(offsets: Any, itemsize: int = 4, ax: Any = None) -> Any:
    """The bytes that a warp asks for among those that memory delivers for it."""
    import numpy as np

    offsets = np.asarray(offsets).ravel()
    ax = _axes(ax, 8, 1.2)
    first = offsets * itemsize
    touched = np.unique(first // SECTOR)
    for k in touched:
        ax.axvspan(k * SECTOR, (k + 1) * SECTOR, color="tab:orange", alpha=0.35)
    ax.bar(first, 1, itemsize, align="edge", color="tab:blue")
    ax.set_yticks([])
    ax.set_xlabel("byte")
    used = len(np.unique(offsets)) * itemsize
    moved = len(touched) * SECTOR
    ax.set_title(
        f"{len(touched)} sectors: {moved} bytes move for {used} ({used / moved:.0%})"
    )
    return ax


def count_conflicts(offsets: Any) -> int:
    """How often shared memory is asked before all of a warp have their 4 bytes."""
    import numpy as np

    words = np.unique(np.asarray(offsets).ravel())
    return int(np.bincount(words % BANKS, minlength=BANKS).max())


def banks(offsets: Any, ax: Any = None) -> Any:
    """The words of 4 bytes that a warp takes from each bank of shared memory."""
    import numpy as np

    words = np.unique(np.asarray(offsets).ravel())
    ax = _axes(ax, 8, 1.6)
    ax.bar(np.arange(BANKS), np.bincount(words % BANKS, minlength=BANKS))
    ax.set_xlabel("bank")
    ax.set_ylabel("words")
    times = count_conflicts(offsets)
    ax.set_title("no conflict" if times == 1 else f"a conflict: {times} times as long")
    return ax


def steps(rows: Mapping[str, Sequence[tuple[float, ...]]], ax: Any = None) -> Any:
    """Who works when: for each name its pieces of time, (start, end), or (start, end,
    number) where a piece is not numbered by its place."""
    ax = _axes(ax, 8, 0.5 + 0.4 * len(rows))
    for i, (_, pieces) in enumerate(rows.items()):
        for place, (start, end, *number) in enumerate(pieces):
            k = int(number[0]) if number else place
            ax.barh(i, end - start, left=start, color=f"C{k % 10}", edgecolor="white")
            ax.text((start + end) / 2, i, str(k), ha="center", va="center", fontsize=7)
    ax.set_yticks(range(len(rows)), list(rows))
    ax.invert_yaxis()
    ax.set_xlabel("time")
    return ax


def roofline(
    points: Mapping[str, tuple[float, float]],
    tflops: float,
    gbs: float,
    ax: Any = None,
) -> Any:
    """Kernels as (flops a byte, GFLOP/s) under the machine's two ceilings."""
    import numpy as np

    ax = _axes(ax, 6, 4)
    x = np.logspace(-2, 3, 100)
    ax.loglog(x, np.minimum(x * gbs, tflops * 1e3), color="black", label="the machine")
    for name, (intensity, speed) in points.items():
        ax.plot(intensity, speed, "o", label=name)
    ax.set_xlabel("operations for each byte of memory")
    ax.set_ylabel("GFLOP/s")
    ax.set_title(f"{gbs:.0f} GB/s and {tflops:g} TFLOP/s")
    ax.legend()
    return ax
