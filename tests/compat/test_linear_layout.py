"""``tools.LinearLayout``: what its maps are, by trying every index."""

from __future__ import annotations

import itertools
import pickle
import random
from typing import Any

import pytest

from tegula.compat import libtriton
from tegula.tools import LinearLayout

SEEDS = range(40)


def indices(layout: LinearLayout) -> list[dict[str, int]]:
    sizes = [range(1 << len(row)) for _, row in layout.bases]
    names = layout.get_in_dim_names()
    return [dict(zip(names, at, strict=True)) for at in itertools.product(*sizes)]


def places(layout: LinearLayout) -> list[dict[str, int]]:
    sizes = [range(n) for _, n in layout.out_dims]
    names = layout.get_out_dim_names()
    return [dict(zip(names, at, strict=True)) for at in itertools.product(*sizes)]


def some(r: random.Random, ins: str, sizes: dict[str, int]) -> LinearLayout:
    """Any layout from the inputs, letters, to places of the sizes."""
    bases = [
        (
            name,
            [[r.randrange(n) for n in sizes.values()] for _ in range(r.randrange(4))],
        )
        for name in ins
    ]
    return LinearLayout.from_bases(bases, list(sizes), list(sizes.values()), False)


def onto(r: random.Random, ins: str, sizes: dict[str, int], extra: int) -> LinearLayout:
    """One that reaches every place; without extra bits, from one index."""
    bits = [
        dict.fromkeys(sizes, 0) | {name: 1 << i}
        for name, n in sizes.items()
        for i in range(n.bit_length() - 1)
    ]
    r.shuffle(bits)
    for a, b in itertools.pairwise(bits):
        if r.random() < 0.5:
            b.update({k: b[k] ^ a[k] for k in b})
    for _ in range(extra):
        place = {name: r.randrange(n) for name, n in sizes.items()}
        bits.insert(r.randrange(len(bits) + 1), place)
    rows: dict[str, list[list[int]]] = {name: [] for name in ins}
    for bit in bits:
        rows[r.choice(ins)].append([bit[name] for name in sizes])
    return LinearLayout.from_bases(list(rows.items()), list(sizes))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_layout_is_linear(seed: int) -> None:
    r = random.Random(seed)
    layout = some(r, "ab", {"m": 1 << r.randrange(4), "n": 1 << r.randrange(3)})
    assert (
        LinearLayout.from_bases(
            layout.bases, *map(list, zip(*layout.out_dims, strict=True)), False
        )
        == layout
    )
    at, to = indices(layout), [layout.apply(i) for i in indices(layout)]
    for name, row in layout.bases:
        for i, place in enumerate(row):
            one = layout.apply(dict.fromkeys("ab", 0) | {name: 1 << i})
            assert list(one.values()) == place
    for (i, x), (j, y) in itertools.product(zip(at, to, strict=True), repeat=2):
        both = layout.apply({k: i[k] ^ j[k] for k in i})
        assert both == {k: x[k] ^ y[k] for k in x}
    reached = {tuple(x.values()) for x in to}
    assert layout.is_surjective() == (len(reached) == len(places(layout)))
    assert layout.is_injective() == (len(reached) == len(at))
    assert layout.is_invertible() == (layout.is_surjective() and layout.is_injective())
    # The matrix times the bits of an index, low ones first.
    for i, x in zip(at, to, strict=True):
        bits = [i[k] >> b & 1 for k, row in layout.bases for b in range(len(row))]
        product = [
            sum(p * q for p, q in zip(row, bits, strict=True)) % 2
            for row in layout.get_matrix_view()
        ]
        wanted = [
            x[k] >> b & 1 for k, n in layout.out_dims for b in range(n.bit_length() - 1)
        ]
        assert product == wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_inverses(seed: int) -> None:
    r = random.Random(seed)
    sizes = {"m": 1 << r.randrange(4), "n": 1 << r.randrange(1, 4)}
    layout = onto(r, "ab", sizes, 0)
    there, back = layout.invert(), layout.pseudoinvert()
    assert there == back and there.is_invertible()
    for i in indices(layout):
        assert there.apply(layout.apply(i)) == i
    more = onto(r, "abc", sizes, r.randrange(1, 3))
    for place in places(more):
        assert more.apply(more.pseudoinvert().apply(place)) == place
    with pytest.raises(ValueError, match="not every place has one index"):
        more.invert()
    # The bits of an index that repeat what others reach are those that come last.
    free = LinearLayout.from_bases([("a", [[1], [1], [2], [3]])], ["m"])
    assert free.pseudoinvert().bases == [("m", [[1], [4]])]


@pytest.mark.parametrize("seed", SEEDS)
def test_one_after_the_other(seed: int) -> None:
    r = random.Random(seed)
    sizes = {"m": 1 << r.randrange(4), "n": 1 << r.randrange(3)}
    first = some(r, "ab", sizes)
    swapped = dict(reversed(sizes.items()))
    other = onto(r, "xy", swapped, r.randrange(3))
    composed = first.compose(other.pseudoinvert())
    assert composed.get_out_dim_names() == ["x", "y"]
    both = first.invert_and_compose(other)
    for i in indices(first):
        assert composed.apply(i) == other.pseudoinvert().apply(first.apply(i))
        place = first.apply(i)
        assert {k: other.apply(both.apply(i))[k] for k in place} == place


def test_what_both_have_stays() -> None:
    """Copies go to the copies of the same number, where nothing shares their places."""
    rows = [("lane", [[1], [2]]), ("warp", [[0]])]
    layout = LinearLayout.from_bases(rows, ["m"])
    assert layout.invert_and_compose(layout).bases == [
        ("lane", [[1, 0], [2, 0]]),
        ("warp", [[0, 1]]),
    ]
    shared = LinearLayout.from_bases([("lane", [[1]]), ("warp", [[1]])], ["m"])
    assert shared.invert_and_compose(shared).bases == [
        ("lane", [[1, 0]]),
        ("warp", [[1, 0]]),
    ]
    other = LinearLayout.from_bases([("lane", [[1], [4]])], ["m"], [8], False)
    with pytest.raises(ValueError, match="does not reach the places of warp"):
        LinearLayout.from_bases(
            [("warp", [[2]])], ["m"], [8], False
        ).invert_and_compose(other)


@pytest.mark.parametrize("seed", SEEDS)
def test_side_by_side(seed: int) -> None:
    r = random.Random(seed)
    low = some(r, "ab", {"m": 1 << r.randrange(3), "n": 4})
    high = some(r, "bc", {"n": 2, "k": 1 << r.randrange(3)})
    whole = low * high
    assert whole.get_in_dim_names() == ["a", "b", "c"]
    assert whole.get_out_dim_names() == ["m", "n", "k"]
    bits = {name: len(row) for name, row in low.bases}
    assert dict(whole.out_dims)["n"] == 8
    for i, j in itertools.product(indices(low), indices(high)):
        at = {
            k: i.get(k, 0) | j.get(k, 0) << bits.get(k, 0)
            for k in whole.get_in_dim_names()
        }
        x, y = low.apply(i), high.apply(j)
        assert whole.apply(at) == {"m": x["m"], "n": x["n"] | y["n"] << 2, "k": y["k"]}


def test_names_in_order() -> None:
    def of(names: str) -> LinearLayout:
        return LinearLayout.from_bases([(n, []) for n in names], ["m"])

    for one, other, both in (
        ("ab", "cb", "acb"),
        ("ab", "ba", "ab"),
        ("abc", "bca", "bac"),
        ("xyz", "qyrx", "qyrxz"),
    ):
        assert (of(one) * of(other)).get_in_dim_names() == list(both)


def test_makers() -> None:
    four = LinearLayout.identity_1d(4, "lane", "m")
    assert (four.bases, four.out_dims) == ([("lane", [[1], [2]])], [("m", 4)])
    strided = LinearLayout.strided_1d(size=4, stride=2, inDim="lane", outDim="m")
    assert (strided.bases, strided.out_dims) == ([("lane", [[2], [4]])], [("m", 8)])
    zeros = LinearLayout.zeros_1d(4, "lane", "m", outDimSize=2)
    assert (zeros.bases, zeros.out_dims) == ([("lane", [[0], [0]])], [("m", 2)])
    empty = LinearLayout()
    assert (empty.num_in_dims, empty.num_out_dims) == (0, 0)
    assert empty.is_invertible() and empty.apply({}) == {} and empty.invert() == empty
    assert empty * four == four == four * empty
    assert LinearLayout.identity_1d(0, "lane", "m") == empty
    copy = four
    four *= LinearLayout.identity_1d(2, "warp", "m")
    assert copy.num_in_dims == 1 and four.num_in_dims == 2
    assert {four: 1}[pickle.loads(pickle.dumps(four))] == 1 and four != copy
    assert four != 3
    assert libtriton.linear_layout.LinearLayout is LinearLayout


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearLayout.identity_1d(3, "a", "m"), "a is 3: sizes are powers"),
        (lambda: LinearLayout.strided_1d(4, 3, "a", "m"), "m is 12: sizes are powers"),
        (lambda: LinearLayout.zeros_1d(4, "a", "m", 3), "m is 3: sizes are powers"),
        (lambda: LinearLayout.from_bases([("a", [[2]])], ["m"]), "never reached"),
        (
            lambda: LinearLayout.from_bases([("a", [[2]])], ["m"], [2]),
            "m is 2, and its",
        ),
        (lambda: LinearLayout.from_bases([("a", [[1, 1]])], ["m"]), "is not 1 numbers"),
        (lambda: LinearLayout.from_bases([("a", [[-1]])], ["m"]), "is not 1 numbers"),
        (lambda: LinearLayout.from_bases([("a", []), ("a", [])], ["m"]), "named twice"),
        (lambda: LinearLayout.from_bases([], ["m", "m"]), "named twice"),
        (lambda: LinearLayout.from_bases([], ["m"], [1, 1]), "another length"),
        (
            lambda: LinearLayout.from_bases([], ["m"], None, False),
            "wants out_dim_sizes",
        ),
        (
            lambda: LinearLayout.identity_1d(2, "a", "m").apply({"b": 1}),
            "'b'. are given",
        ),
        (
            lambda: LinearLayout.identity_1d(4, "a", "m").compose(
                LinearLayout.identity_1d(2, "m", "n")
            ),
            "more places",
        ),
        (
            lambda: LinearLayout.identity_1d(2, "a", "m").get_shared_view(True),
            "'offset', 'block'",
        ),
    ],
)
def test_errors(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_texts() -> None:
    """As Triton prints them."""
    rows = [
        ("register", [[0, 1]]),
        ("lane", [[1, 0]]),
        ("warp", [[2, 0]]),
        ("block", []),
    ]
    layout = LinearLayout.from_bases(rows, ["m", "n"])
    assert (
        str(layout)
        == repr(layout)
        == (
            "\n - register=1 -> (0, 1)\n - lane=1 -> (1, 0)\n - warp=1 -> (2, 0)\n"
            " - block is a size 1 dimension\nwhere out dims are: [m (size 4), n (size 2)]"
        )
    )
    assert str(LinearLayout()) == "\n(empty layout)"
    only = LinearLayout.from_bases([], ["m"], [2], False)
    assert str(only) == "\n(empty layout with out-dims [m (size 2)])"
    assert layout.get_distributed_view(False) == (
        "[[T0:0, T0:1]\n[ T1:0, T1:1]\n[ T2:0, T2:1]\n[ T3:0, T3:1]]\n"
    )
    assert layout.get_distributed_view(True) == (
        "Warp0:\n(0,0), (1,0)\n(0,1), (1,1)\nWarp1:\n(2,0), (3,0)\n(2,1), (3,1)\n"
    )
    rows = [("register", []), ("lane", [[1]]), ("warp", [[0]]), ("block", [[2]])]
    copies = LinearLayout.from_bases(rows, ["m"])
    assert copies.get_distributed_view(False) == (
        "[B0:T0:0|B0:T2:0, B0:T1:0|B0:T3:0, B1:T0:0|B1:T2:0, B1:T1:0|B1:T3:0]\n"
    )
    assert copies.get_distributed_view(True).startswith("Block0:\nWarp0:\n(0), (1)\n")
    rows = [("offset", [[0, 1], [1, 1]]), ("block", [[2, 0]])]
    swizzled = LinearLayout.from_bases(rows, ["m", "n"])
    assert swizzled.get_shared_view(False) == (
        "[[(0:0),(0:1)]\n[ (1:1),(1:0)]\n[ (2:0),(2:1)]\n[ (3:1),(3:0)]]\n"
    )
    assert swizzled.get_shared_view(True) == (
        "Block: 0:\nOffset: 0 -> (0,0)\nOffset: 1 -> (0,1)\nOffset: 2 -> (1,1)\n"
        "Offset: 3 -> (1,0)\nBlock: 1:\nOffset: 0 -> (2,0)\nOffset: 1 -> (2,1)\n"
        "Offset: 2 -> (3,1)\nOffset: 3 -> (3,0)\n"
    )
    wide = LinearLayout.identity_1d(16, "offset", "m") * LinearLayout.identity_1d(
        1, "block", "m"
    )
    assert wide.get_shared_view(False).startswith("[( 0),( 1),")
