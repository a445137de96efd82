"""Random products of affine loads: by copies of tensors, and interpreted.

    tests/props/fuzz_promoted.py 0..999     the kernels of these seeds; what differs
    tests/props/fuzz_promoted.py 42         one, with its text

A seed is a kernel and some launches of it. Rows, columns and masks are written one way of
many: what wraps, runs backwards or down a diagonal, strides that are negative, 0 or no
multiple of 16 bytes, bounds that are loaded or say nothing of the block; pointers, offsets
and block pointers that one loop or two carry; a result that lies in a factor's memory. What
promote_tma takes for a tensor must read what the pointers read, and what it must not take
is drawn as often. Half of the kernels copy every tensor they can (hopper="3,all"), the
others where warps of their own do it, asked to or not. Numbers are small and whole, so that
a sum is one number whatever its order.
"""

from __future__ import annotations

import linecache
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "ptxsim"))

import simulated

import tegula
import tegula.language as tl

TARGET = "sm_90a"
LAUNCHES = 8
# Elements in front of a matrix's first and behind it: more than any address here is away.
ROOM = 1 << 16
SIDE = 128  # of the result, which has room for every program
TYPES = ("f2", "f2", "f2", "f4", "i1")

HEAD = """\
def product(a_ptr, b_ptr, c_ptr, length_ptr, M, N, K, sam, sak, sbk, sbn, batch, shift):
    pm, pn, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    m, n, k = tl.arange(0, {BM}), tl.arange(0, {BN}), tl.arange(0, {BK})
    length = tl.load(length_ptr + z)
    acc = tl.zeros(({BM}, {BN}), {acc})
"""
TAIL = """\
    c = c_ptr + z * {SIDE} * {SIDE} + (pm * {BM} + m)[:, None] * {SIDE}
    tl.store(c + (pn * {BN} + n)[None, :], acc)
"""


class Draw:
    """Choices of a seed."""

    def __init__(self, seed: int) -> None:
        self.r = np.random.default_rng(seed)
        self.by_roles = self.chance(50)

    def usual(self, percent: int) -> bool:
        """What is usual is so more often where all of a loop must be, for roles."""
        return self.chance(percent + (95 - percent) // 2 * self.by_roles)

    def one(self, *of: Any) -> Any:
        return of[self.r.integers(len(of))]

    def chance(self, percent: int) -> bool:
        return bool(self.r.integers(100) < percent)


def side_index(d: Draw, p: str, v: str, block: int, bound: str) -> str:
    """An index of rows or columns: of program p, lane v."""
    at = d.one(f"{p} * {block} + {v}", f"{v} + {block} * {p}")
    if d.usual(45):
        return str(at)
    return str(
        d.one(
            f"({at}) % {bound}",
            f"({at}) % {bound}",
            f"({at} + shift) % {bound}",
            f"({at} + shift) // 16 * 16 + {v} % 16",
            f"({at} + shift) % {block}",
            f"({at}) % {bound} + shift",
            f"({p} * {block}) % {bound} + {v}",
            f"({at}) % (2 * {block})",
            f"{at} - 1",
            f"{at} + shift",
            f"{at} + length",
            f"length * 2 + {at} - 40",
            f"{bound} - 1 - ({at})",
            f"(tl.num_programs({'mn'.index(v)}) - 1 - {p}) * {block} + {v}",
            f"(tl.num_programs({'mn'.index(v)}) - 1 - {p}) * {block} + {v}",
            f"(tl.cdiv({bound}, {block}) - 1 - {p}) * {block} + {v}",
            f"{bound} - {block} + {v}",
            f"({at}) * 2",
            f"({at}) // 2",
            f"{p} * {block} + ({v} ^ 1)",
            f"{p} * {block} + ({block} - 1 - {v})",
            f"tl.minimum({at}, {bound} - 1)",
            f"tl.where({at} < {bound}, {at}, 0)",
            f"z * {block} + {v}",
            f"{v}",
            f"{p} * z * {block} + {v}",
        )
    )


def side_mask(d: Draw, i: str, p: str, v: str, block: int, bound: str) -> str:
    """Of index i; v and p as in side_index. Empty: none."""
    if d.chance(35):
        return ""
    if d.usual(45):
        return f"{i} < {bound}"
    return str(
        d.one(
            f"({i} < {bound}) & ({i} >= 0)",
            f"{i} <= {bound} - 1",
            f"{bound} > {i}",
            f"{v} < {bound} - {p} * {block}",
            f"{p} * {block} + {v} < {bound}",
            f"{i} < {bound} - 3",
            f"{i} < length",
            f"{v} < length - {p} * {block}",
            f"({i} < length) & ({i} < {bound})",
            f"{i} % 2 == 0",
            f"{i} != 3",
            f"{i} >= 2",
            f"{v} < 9",
            f"({i} < {bound}) | ({v} < 3)",
            f"{i} < shift",
            f"{i}.to(tl.uint32) < 40",
            f"{i} * 2 < {bound}",
            f"({i} < {bound}) & ({bound} > 7)",
        )
    )


def depth_mask(d: Draw, ahead: str) -> str:
    if d.chance(35):
        return ""
    if d.usual(60):
        return f"k < K - {ahead}"
    return str(
        d.one(
            f"k + {ahead} < K",
            f"k + {ahead} <= K - 1",
            f"k + {ahead} < K - 5",
            f"k + {ahead} < length",
            "k % 2 == 0",
            f"k + {ahead} >= 1",
            "k < 9",
            f"(k + {ahead}) % K == k + {ahead}",
        )
    )


class Side(NamedTuple):
    """A factor: how its elements are found."""

    base: str
    load: str  # {p}: the pointers
    ahead: str  # what a turn of the loop adds to them: {n} elements along k


def across(v: str, axis: int) -> str:
    return f"({v})[:, None]" if axis == 0 else f"({v})[None, :]"


def by_block_pointer(d: Draw, name: str, s: dict[str, Any]) -> Side:
    is_a = name == "a"
    at = d.one("{p} * {b}", "{p} * {b}", "0", "shift", "(1 - {p}) * {b}")
    at = at.format(p="pm" if is_a else "pn", b=s["BM" if is_a else "BN"])
    shape = "(M, K), (sam, sak)" if is_a else "(K, N), (sbk, sbn)"
    offsets = f"({at}, 0)" if is_a else f"(0, {at})"
    block = f"({s['BM']}, {s['BK']})" if is_a else f"({s['BK']}, {s['BN']})"
    order = d.one("(1, 0)", "(0, 1)")
    base = f"{name}_ptr{d.one('', ' + z * batch')}"
    check = d.one("", "boundary_check=(0,)", "boundary_check=(1,)", *["both"] * 3)
    check = check.replace("both", 'boundary_check=(0, 1), padding_option="zero"')
    return Side(
        f"tl.make_block_ptr({base}, {shape}, {offsets}, {block}, {order})",
        f"tl.load({{p}}, {check})",
        "(0, {n})" if is_a else "({n}, 0)",
    )


def side(d: Draw, name: str, ahead: str, s: dict[str, Any]) -> Side:
    is_a = name == "a"
    if d.chance(15):
        return by_block_pointer(d, name, s)
    i, p, v, bound = ("i", "pm", "m", "M") if is_a else ("j", "pn", "n", "N")
    block, axis = (s["BM"], 0) if is_a else (s["BN"], 1)
    outer, inner = ("sam", "sak") if is_a else ("sbn", "sbk")
    rows = f"{across(i, axis)} * {outer}"
    depth = f"{across('k', 1 - axis)} * {inner}"
    if d.chance(25):  # a stride that is nobody's argument
        if is_a or d.chance(50):
            depth, inner = across("k", 1 - axis), "1"
        else:
            rows = across(i, axis)
    more = (
        ""
        if d.usual(25)
        else d.one(
            *[""] * 3,
            " + z * batch",
            " + z * batch",
            f" + z * ({bound} * {outer})",
            " + shift",
            " + pm * 8",
            f" + {across(i, axis)}",
            f" - 2 * {across('k', 1 - axis)}",
            f" + {across('k', 1 - axis)} * {outer}",
            f" + {across(i, axis)} * 24",
            " + (pm + pn) * 16",
        )
    )
    masks = [
        across(m, where)
        for m, where in (
            (side_mask(d, i, p, v, block, bound), axis),
            (depth_mask(d, ahead), 1 - axis),
        )
        if m
    ]
    if d.chance(4):
        masks.append(f"({across(i, axis)} + {across('k', 1 - axis)} < {bound})")
    mask = " & ".join(masks)
    other = d.one("0", "0", None, "1") if d.chance(40) else "0"
    return Side(
        f"{name}_ptr + {d.one(f'({rows} + {depth})', f'{rows} + {depth}')}{more}",
        "tl.load({p}"
        + ((f", mask={mask}" + (f", other={other}" if other else "")) if mask else "")
        + ")",
        f"{{n}} * {inner}",
    )


def loop_lines(
    d: Draw, s: dict[str, Any], sides: dict[str, Side], ahead: str, by_turns: bool
) -> list[str]:
    """One loop along k, or two, which carry the pointers, an offset of them, or neither."""
    block = s["BK"]
    step = 1 if by_turns else block
    index, end = ("turn", f"tl.cdiv(K, {block})") if by_turns else ("k0", "K")
    ways = {
        name: "carried" if "make" in of.base else d.one("carried", "offset", "at")
        for name, of in sides.items()
    }
    middle = d.one(str(step), f"pm * {step}", f"(pn + 1) * {step}", "0")
    bounds = [("0", end)] if d.chance(75) else [("0", middle), (middle, end)]
    lines = [f"{name}_at = 0" for name, way in ways.items() if way == "offset"]
    for first, last in bounds:
        lines.append(f"for {index} in range({first}, {last}, {step}):")
        for name, of in sides.items():
            n = f"{name}_at" if ways[name] == "offset" else f"({ahead})"
            p = name if ways[name] == "carried" else f"{name} + {of.ahead.format(n=n)}"
            lines.append(f"    {'xy'[name == 'b']} = {of.load.format(p=p)}")
        lines.append("    acc = tl.dot(x, y, acc)")
        for name, of in sides.items():
            by = of.ahead.format(n=block)
            if "make" in of.base:
                lines.append(f"    {name} = tl.advance({name}, {by})")
            elif ways[name] == "carried":
                lines.append(f"    {name} += {by}")
            elif ways[name] == "offset":
                lines.append(f"    {name}_at += {block}")
    return lines


def kernel_text(d: Draw) -> tuple[str, dict[str, Any]]:
    dtype = "f2" if d.by_roles else d.one(*TYPES)
    s: dict[str, Any] = {
        "BM": d.one(16, 16, 32, 64),
        "BN": d.one(16, 32, 64),
        "BK": d.one(32, 64) if dtype == "i1" else d.one(16, 32, 64),
        "SIDE": SIDE,
        "acc": "tl.int32" if dtype == "i1" else "tl.float32",
        "dtype": dtype,
    }
    s["options"] = {"num_warps": 4, "hopper": "3,all"}
    if d.by_roles:  # what warps of their own bring is of such sides
        s["options"] = {"num_warps": 4, **d.one({"hopper": "3"}, {"multicast": "1"})}
        s.update(BM=64, BN=d.one(32, 64), BK=d.one(32, 64))
    by_turns = d.chance(40)
    ahead = f"turn * {s['BK']}" if by_turns else "k0"
    a, b = side(d, "a", ahead, s), side(d, "b", ahead, s)
    lines = [
        f"i = {side_index(d, 'pm', 'm', s['BM'], 'M')}",
        f"j = {side_index(d, 'pn', 'n', s['BN'], 'N')}",
        f"a = {a.base}",
        f"b = {b.base}",
        *loop_lines(d, s, {"a": a, "b": b}, ahead, by_turns),
    ]
    text = HEAD.format(**s) + "".join(f"    {line}\n" for line in lines)
    return text + TAIL.format(**s), s


class Launch(NamedTuple):
    grid: tuple[int, int, int]
    starts: tuple[int, int]  # of a and b, from the middle of their memory
    lengths: tuple[int, int]
    numbers: tuple[int, ...]
    shared: int  # of a's bytes in front of the result; 0: it has its own memory


def strides(d: Draw, dtype: str) -> tuple[int, int]:
    """Of a matrix: mostly what a tensor map takes, along one side or the other."""
    whole = 16 // np.dtype(dtype).itemsize
    far = whole * int(d.r.integers(1, 96 // whole + 1))
    if d.chance(15):
        far = int(d.one(far + 1, -far, 0, 1, 3))
    near = 1 if d.chance(90) else int(d.one(2, -1, 0, whole))
    return far, near


def launches(d: Draw, s: dict[str, Any]) -> list[Launch]:
    """Mostly of one kind, which one compile serves."""
    whole = 16 // np.dtype(s["dtype"]).itemsize
    turned, again = d.chance(50), d.chance(70)
    result = []
    for turn in range(LAUNCHES):
        if turn == 0 or not again:
            a, b = strides(d, s["dtype"]), strides(d, s["dtype"])
            batch = int(d.one(whole * d.r.integers(0, 200), d.r.integers(0, 900)))
            starts = [int(d.one(0, 0, 0, whole, 5)) for _ in "ab"]
            rests = [int(d.one(0, 0, d.r.integers(1, 16))) for _ in "MNK"]
        if turn == 0 or not again or d.chance(20):
            shift = int(d.one(0, s["BM"], 16, 3, -2, -16, -s["BN"]))
        M, N, K = (16 * int(d.r.integers(r == 0, 5)) + r for r in rests)
        sbn, sbk = b if turned else b[::-1]
        lengths = [int(d.r.integers(0, 70)) for _ in "zz"]
        grid = (int(d.one(1, 2)), int(d.one(1, 2)), int(d.one(1, 1, 2)))
        numbers = (M, N, K, *a, sbk, sbn, batch, shift)
        shared = 0
        if d.chance(12):  # one program has read all before it writes
            size = np.dtype(s["dtype"]).itemsize
            shared = ROOM * size + 16 * int(d.r.integers(-64, 64 if size > 1 else 1))
            grid = (1, 1, 1)
        result.append(Launch(grid, tuple(starts), tuple(lengths), numbers, shared))
    return result


@cache
def memory(dtype: str) -> tuple[simulated.Tensor, simulated.Tensor]:
    """The factors' elements, with room on both sides."""
    rng = np.random.default_rng(7)
    made = (rng.integers(-3, 4, 2 * ROOM).astype(dtype) for _ in "ab")
    a, b = (simulated.put(x, TARGET) for x in made)
    return a, b


@cache
def own_result(dtype: str) -> simulated.Tensor:
    return simulated.put(np.zeros((2, SIDE, SIDE), dtype), TARGET)


def result_of(x: Launch, s: dict[str, Any]) -> simulated.Tensor:
    dtype = "i4" if s["dtype"] == "i1" else "f4"
    if not x.shared:
        return own_result(dtype)
    a, _ = memory(s["dtype"])
    n = SIDE * SIDE * 4
    there = a.array.view(np.uint8)[x.shared : x.shared + n].view(dtype)
    return simulated.Tensor(there.reshape(1, SIDE, SIDE), TARGET, a)


def build(text: str, name: str, **options: Any) -> Any:
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"tl": tl}
    exec(compile(text, file, "exec"), space)
    return tegula.jit(space["product"], **options)


def from_whole(text: str) -> str:
    """The kernel, whose factors come as all of their memory with the place to start at: the
    interpreter lets nothing be read in front of an array."""
    head, first, rest = text.split("\n", 2)
    head = head.replace("length_ptr,", "length_ptr, start_a, start_b,")
    return "\n".join([head, first, "    a_ptr += start_a\n    b_ptr += start_b", rest])


def in_range(x: Launch, s: dict[str, Any]) -> bool:
    """No address is farther from the start than there is memory: indices are below 300."""
    M, _, K, sam, sak, sbk, sbn, batch, _ = x.numbers
    depth = K + 2 * s["BK"]
    far = max(map(abs, (sam, sak, sbk, sbn)))
    most = 300 * (far + 25) + batch + 2 * depth * (far + 2) + M * far + 64
    return most < ROOM


def run(seed: int) -> tuple[str, int, int]:
    """What differs ("": nothing), launches, and how many of them went by copies."""
    d = Draw(seed)
    text, s = kernel_text(d)
    promoted = build(text, f"promoted {seed}")
    interpreted = build(from_whole(text), f"interpreted {seed}", interpret=True)
    a, b = memory(s["dtype"])
    before = a.array.copy()
    n, n_copied = 0, 0
    for x in launches(d, s):
        if not in_range(x, s):
            continue
        start_a, start_b = (ROOM + at for at in x.starts)
        lengths = simulated.put(np.array(x.lengths, np.int32), TARGET)
        c = result_of(x, s)
        there = a[start_a:], b[start_b:], c, lengths
        if not x.shared:
            c.array[:] = -77
        code = simulated.launched(promoted, x.grid, *there, *x.numbers, **s["options"])
        got = c.array.copy()
        a.array[:] = before
        if not x.shared:
            c.array[:] = -77
        here = (t.numpy() for t in (a, b, c, lengths))
        interpreted[x.grid](*here, start_a, start_b, *x.numbers)
        want = c.array.copy()
        a.array[:] = before
        n += 1
        n_copied += "= map_load " in code.asm["tir"]
        if not np.array_equal(got, want):
            bad = np.argwhere(got != want)
            where = tuple(int(v) for v in bad[0])
            return (
                f"seed {seed}, {x}: {len(bad)} differ, the first at {where}: "
                f"{got[where]}, interpreted {want[where]}\n{text}\n{code.report}",
                n,
                n_copied,
            )
    for name in ("promoted", "interpreted"):
        del linecache.cache[f"<{name} {seed}>"]
    return "", n, n_copied


def main() -> None:
    tegula.knobs.cache.dir = ""
    low, _, high = sys.argv[1].partition("..")
    first, last = int(low), int(high or low)
    n = n_copied = n_bad = 0
    if first == last:
        print(kernel_text(Draw(first))[0])
    for seed in range(first, last + 1):
        try:
            said, launched, copied = run(seed)
        except Exception as e:
            said, launched, copied = f"seed {seed}: {type(e).__name__}: {e}", 1, 0
        n, n_copied = n + launched, n_copied + copied
        if said:
            n_bad += 1
            print(said, flush=True)
        if seed % 1000 == 999 or seed == last:
            counts = f"{n} launches, {n_copied} by copies, {n_bad} differ"
            print(f"up to {seed}: {counts}", flush=True)
    sys.exit(n_bad > 0)


if __name__ == "__main__":
    main()
