"""``LinearLayout``: a linear map over F2 between named dims: Triton's word for layouts.

An index of an input is taken apart into bits; each bit leads to a place, its basis, and
where several bits are set their places are added without carry (XOR).
``csrc/layout/README.md`` has pictures. The compiler's own layouts are in C, with four
inputs and flat places; this class is for host code that computes with layouts, and has
dims of any name.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

Bases = Sequence[tuple[str, Sequence[Sequence[int]]]]


def _span(columns: Sequence[int]) -> dict[int, tuple[int, int]]:
    """By leading bit, a vector of the columns' span and the columns whose sum it is."""
    table: dict[int, tuple[int, int]] = {}
    for i, column in enumerate(columns):
        rest, used = _reduce(table, column)
        if rest:
            table[rest.bit_length()] = rest, used | 1 << i
    return table


def _reduce(table: dict[int, tuple[int, int]], v: int) -> tuple[int, int]:
    """What the table leaves of v (0: nothing, v is in the span), and the columns taken."""
    used = 0
    while v.bit_length() in table:
        vector, columns = table[v.bit_length()]
        v, used = v ^ vector, used ^ columns
    return v, used


def _names(one: Sequence[str], other: Sequence[str]) -> None:
    if sorted(one) != sorted(other):
        raise ValueError(f"dims {list(one)} are given, and {list(other)} are wanted")


def _merge(one: list[str], other: list[str]) -> list[str]:
    """All names, as they follow each other in both. Where the two disagree the name goes
    first that the other list has sooner."""
    names: list[str] = []
    while one and other:
        here = other.index(one[0]) if one[0] in other else -1
        there = one.index(other[0]) if other[0] in one else -1
        name = one[0] if here <= there else other[0]
        names.append(name)
        one, other = ([n for n in row if n != name] for row in (one, other))
    return names + one + other


def _bits(size: int, what: str) -> int:
    if size < 1 or size & (size - 1):
        raise ValueError(f"{what} is {size}: sizes are powers of two")
    return size.bit_length() - 1


class LinearLayout:
    """A linear map over F2 from indices to places; either is a number for each dim.

    ``LinearLayout()`` is empty, and what others are multiplied with to begin. Layouts are
    values: they do not change, are equal where all names, sizes and bases are, and can be
    keys. Every size is a power of two.

    Errors: ValueError where dims or sizes do not fit (Triton's ends the process).

    >>> LinearLayout = tegula.tools.LinearLayout
    >>> layout = LinearLayout.from_bases(
    ...     [("register", [[0, 1]]), ("lane", [[1, 0], [2, 0]])], ["row", "column"]
    ... )
    >>> layout.apply({"register": 1, "lane": 3})
    {'row': 3, 'column': 1}
    >>> layout.invert().apply({"row": 2, "column": 1})
    {'register': 1, 'lane': 2}
    >>> rows = LinearLayout.identity_1d(2, "register", "row")
    >>> (rows * LinearLayout.identity_1d(4, "lane", "row")).bases
    [('register', [[1]]), ('lane', [[2], [4]])]
    """

    __slots__ = ("_ins", "_outs")

    def __init__(self) -> None:
        self._ins: dict[str, tuple[int, ...]] = {}  # a place in one word, dim after dim
        self._outs: dict[str, int] = {}  # log2 of the sizes

    @staticmethod
    def from_bases(
        bases: Bases,
        out_dim_names: Sequence[str],
        out_dim_sizes: Sequence[int] | None = None,
        require_surjective: bool = True,
    ) -> LinearLayout:
        """bases: of each input, the place of each of its bits, as numbers in the order of
        out_dim_names. out_dim_sizes: None for the smallest that hold them, which needs
        require_surjective, by which it is a ValueError that a place is never reached."""
        for names in ([name for name, _ in bases], out_dim_names):
            if len(set(names)) < len(names):
                raise ValueError(f"a dim is named twice in {list(names)}")
        places = [place for _, rows in bases for place in rows]
        for place in places:
            if len(place) != len(out_dim_names) or min(place, default=0) < 0:
                n = len(out_dim_names)
                raise ValueError(f"basis {list(place)} is not {n} numbers from 0 on")
        if out_dim_sizes is None:
            if not require_surjective:
                raise ValueError("require_surjective=False wants out_dim_sizes")
            largest = zip(*places, strict=True) if places else [()] * len(out_dim_names)
            out_dim_sizes = [1 << max(x, default=0).bit_length() for x in largest]
        if len(out_dim_sizes) != len(out_dim_names):
            raise ValueError("out_dim_sizes has another length than out_dim_names")
        layout = LinearLayout()
        for name, size in zip(out_dim_names, out_dim_sizes, strict=True):
            layout._outs[name] = _bits(size, name)
        for name, rows in bases:
            named = (dict(zip(out_dim_names, place, strict=True)) for place in rows)
            layout._ins[name] = tuple(map(layout._join, named))
        if require_surjective and not layout.is_surjective():
            raise ValueError(f"some places are never reached:{layout}")
        return layout

    @staticmethod
    def strided_1d(size: int, stride: int, inDim: str, outDim: str) -> LinearLayout:
        """Index i to place ``i * stride``; of size 0 the empty layout."""
        if size == 0:
            return LinearLayout()
        bases = [[stride << i] for i in range(_bits(size, inDim))]
        sizes = [size * stride]
        return LinearLayout.from_bases([(inDim, bases)], [outDim], sizes, False)

    @staticmethod
    def identity_1d(size: int, inDim: str, outDim: str) -> LinearLayout:
        """Index i to place i."""
        return LinearLayout.strided_1d(size, 1, inDim, outDim)

    @staticmethod
    def zeros_1d(
        size: int, inDim: str, outDim: str, outDimSize: int = 1
    ) -> LinearLayout:
        """Every index to place 0."""
        if size == 0:
            return LinearLayout()
        bases = [[0]] * _bits(size, inDim)
        return LinearLayout.from_bases([(inDim, bases)], [outDim], [outDimSize], False)

    # --- what it is ---------------------------------------------------------------------
    @property
    def bases(self) -> list[tuple[str, list[list[int]]]]:
        """Of each input, the place of each of its bits, lowest first."""
        return [
            (name, [self._split(v) for v in row]) for name, row in self._ins.items()
        ]

    @property
    def out_dims(self) -> list[tuple[str, int]]:
        """Names and sizes of places."""
        return [(name, 1 << n) for name, n in self._outs.items()]

    @property
    def num_in_dims(self) -> int:
        return len(self._ins)

    @property
    def num_out_dims(self) -> int:
        return len(self._outs)

    def get_in_dim_names(self) -> list[str]:
        return list(self._ins)

    def get_out_dim_names(self) -> list[str]:
        return list(self._outs)

    def is_surjective(self) -> bool:
        """Is every place reached?"""
        return len(_span(self._columns())) == sum(self._outs.values())

    def is_injective(self) -> bool:
        """Has no place two indices?"""
        columns = self._columns()
        return len(_span(columns)) == len(columns)

    def is_invertible(self) -> bool:
        """Has every place one index?"""
        return self.is_surjective() and self.is_injective()

    def get_matrix_view(self) -> list[list[int]]:
        """The matrix: a row for each bit of a place, a column for each bit of an index."""
        columns = self._columns()
        return [[v >> i & 1 for v in columns] for i in range(sum(self._outs.values()))]

    # --- what is made of it --------------------------------------------------------------
    def apply(self, inputs: dict[str, int]) -> dict[str, int]:
        """The place of an index. Bits above the size of an input do not count."""
        _names(list(inputs), list(self._ins))
        place = 0
        for name, row in self._ins.items():
            for i, v in enumerate(row):
                place ^= v * (inputs[name] >> i & 1)
        return dict(zip(self._outs, self._split(place), strict=True))

    def compose(self, other: LinearLayout) -> LinearLayout:
        """First this, then other, whose indices are places of this one."""
        _names(list(self._outs), list(other._ins))
        result = LinearLayout()
        result._outs = other._outs
        for name, n in self._outs.items():
            if n > len(other._ins[name]):
                raise ValueError(f"{name} has more places here than indices there")
        for name, row in self._ins.items():
            places = (other.apply(self._place(v)) for v in row)
            result._ins[name] = tuple(map(result._join, places))
        return result

    def invert_and_compose(self, other: LinearLayout) -> LinearLayout:
        """From an index of this layout to one of other with the same place.

        Where other has several, bits that lead where those ahead of them lead already are
        0, but an input that is the same in both stays what it is if its places have no bit
        in common with those of the other inputs."""
        _names(list(self._outs), list(other._outs))
        table = _span(other._columns())
        result = LinearLayout()
        result._outs = {name: len(row) for name, row in other._ins.items()}
        for name, row in self._ins.items():
            places = tuple(other._join(self._place(v)) for v in row)
            is_same = places == other._ins.get(name)
            if is_same and self._is_apart(name) and other._is_apart(name):
                bits = ({name: 1 << i} for i in range(len(row)))
                result._ins[name] = tuple(map(result._join, bits))
                continue
            images = [_reduce(table, place) for place in places]
            if any(rest for rest, _ in images):
                raise ValueError(
                    f"the other layout does not reach the places of {name}"
                )
            result._ins[name] = tuple(used for _, used in images)
        return result

    def pseudoinvert(self) -> LinearLayout:
        """From a place to an index of it; the layout is onto."""
        whole = LinearLayout()
        for name, size in self.out_dims:
            whole *= LinearLayout.identity_1d(size, name, name)
        return whole.invert_and_compose(self)

    def invert(self) -> LinearLayout:
        """From a place to its index."""
        if not self.is_invertible():
            raise ValueError(f"not every place has one index:{self}")
        return self.pseudoinvert()

    def __mul__(self, other: LinearLayout) -> LinearLayout:
        """Side by side: bits and places of other lie above those of the same name here."""
        if not isinstance(other, LinearLayout):
            return NotImplemented
        result, low = LinearLayout(), self._outs
        for name in _merge(list(low), list(other._outs)):
            result._outs[name] = low.get(name, 0) + other._outs.get(name, 0)
        for name in _merge(list(self._ins), list(other._ins)):
            places = [self._place(v) for v in self._ins.get(name, ())]
            for v in other._ins.get(name, ()):
                place = other._place(v)
                places.append({n: x << low.get(n, 0) for n, x in place.items()})
            result._ins[name] = tuple(map(result._join, places))
        return result

    # --- pictures -------------------------------------------------------------------------
    def get_shared_view(self, useHWPointOfView: bool) -> str:
        """Of a layout from ``offset`` and ``block``: a line for each offset, or with False
        the shape of the places, filled with what lies there, offset after offset."""
        (n, blocks), size = self._sizes("offset", "block"), self._n_places()
        if useHWPointOfView:
            text = ""
            for b in range(blocks):
                text += f"Block: {b}:\n"
                for i in range(size // blocks):
                    place = self._numbers({"offset": i, "block": b})
                    text += f"Offset: {i} -> ({','.join(place)})\n"
            return text
        return self._grid(
            "(" + ":".join(self._numbers({"offset": i % n, "block": i // n})) + ")"
            for i in range(size)
        ).replace(", ", ",")

    def get_distributed_view(self, useHWPointOfView: bool) -> str:
        """Of a layout from ``register``, ``lane``, ``warp`` and ``block``: the places of
        each warp, registers down and lanes across, or with False the shape of the places,
        filled with who holds them, ``B0:T5:2`` for block 0, thread 5, register 2."""
        names = ("register", "lane", "warp", "block")
        registers, lanes, warps, blocks = self._sizes(*names)
        text = ""
        holders: dict[int, list[str]] = {}
        for b, w in itertools.product(range(blocks), range(warps)):
            text += f"Block{b}:\n" if blocks > 1 and w == 0 else ""
            text += f"Warp{w}:\n"
            for r in range(registers):
                line = []
                for i in range(lanes):
                    at = dict(zip(names, (r, i, w, b), strict=True))
                    line.append(f"({','.join(self._numbers(at))})")
                    flat = 0
                    for name, x in self.apply(at).items():
                        flat = flat << self._outs[name] | x
                    who = f"B{b}:" * (blocks > 1) + f"T{w * lanes + i}:{r}"
                    holders.setdefault(flat, []).append(who)
                text += ", ".join(line) + "\n"
        if useHWPointOfView:
            return text
        width = max(len(who) for row in holders.values() for who in row)
        return self._grid(
            "|".join(who.rjust(width) for who in holders.get(i, ()))
            for i in range(self._n_places())
        )

    def __str__(self) -> str:
        outs = ", ".join(f"{name} (size {n})" for name, n in self.out_dims)
        if not self._ins:
            return f"\n(empty layout{outs and f' with out-dims [{outs}]'})"
        lines = []
        for name, row in self.bases:
            for i, place in enumerate(row):
                to = ", ".join(map(str, place))
                lines.append(f" {' ' if i else '-'} {name}={1 << i} -> ({to})")
            if not row:
                lines.append(f" - {name} is a size 1 dimension")
        return "\n".join(["", *lines, f"where out dims are: [{outs}]"])

    __repr__ = __str__

    def _key(self) -> tuple[object, ...]:
        return tuple(self._ins.items()), tuple(self._outs.items())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearLayout):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    # --- helpers --------------------------------------------------------------------------
    def _is_apart(self, name: str) -> bool:
        """Have the places of an input no bit in common with those of the others?"""
        taken = {
            n: functools.reduce(int.__or__, row, 0) for n, row in self._ins.items()
        }
        mine = taken.pop(name)
        return not any(mine & bits for bits in taken.values())

    def _columns(self) -> list[int]:
        return [v for row in self._ins.values() for v in row]

    def _join(self, place: dict[str, int]) -> int:
        """A place in one word; what it does not name is 0."""
        word = shift = 0
        for name, n in self._outs.items():
            x = place.get(name, 0)
            if x >> n:
                raise ValueError(f"{name} is {x}, and its size is {1 << n}")
            word |= x << shift
            shift += n
        return word

    def _split(self, word: int) -> list[int]:
        place = []
        for n in self._outs.values():
            place.append(word & (1 << n) - 1)
            word >>= n
        return place

    def _place(self, word: int) -> dict[str, int]:
        return dict(zip(self._outs, self._split(word), strict=True))

    def _n_places(self) -> int:
        return math.prod(n for _, n in self.out_dims)

    def _sizes(self, *names: str) -> list[int]:
        _names(list(self._ins), names)
        return [1 << len(self._ins[name]) for name in names]

    def _numbers(self, at: dict[str, int]) -> list[str]:
        """A place as text, each number as wide as the largest of its dim."""
        return [
            str(x).rjust(len(str((1 << n) - 1)))
            for x, n in zip(self.apply(at).values(), self._outs.values(), strict=True)
        ]

    def _grid(self, cells: Iterator[str]) -> str:
        """The cells in rows of the last dim, with brackets as lists have."""
        sizes, text = [n for _, n in self.out_dims], ""
        edges = list(itertools.accumulate(reversed(sizes), lambda a, b: a * b))
        for i, cell in enumerate(cells):
            begins = sum(i % n == 0 for n in edges)
            ends = sum((i + 1) % n == 0 for n in edges)
            if begins:
                text += "[" * begins + " " * (len(sizes) - begins) + cell
            else:
                text += ", " + cell
            text += "]" * ends + "\n" * bool(ends)
        return text
