"""Kernels with one thing of their synchronisation removed or changed, and what becomes of
them.

A ``Subject`` is a kernel that has run once, by the true launch path. Its mutants are texts:
of its PTX (``of_ptx``), where a line goes or a number changes, and of its tile IR of stage
simt (``of_simt``), where slots and phases have names; these are compiled again. Each runs
on the engine in checked launches, whose seeds shuffle the warps, until one is refused:

    reported    a launch was refused; the seed, and why
    wrong       none was, and a result is wrong
    lived       neither

The mutants of a new kernel are those of its text: ``SUBJECTS`` of
tests/kernels/test_sync_mutants.py has to name it, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import simulated

SEEDS = 8


class Mutant(NamedTuple):
    kind: str
    what: str
    line: int  # of the text it is made of, from 1
    text: str


class Outcome(NamedTuple):
    mutant: Mutant
    state: str  # reported, wrong, lived
    seed: int  # that told; -1: none
    why: str


# --- PTX -----------------------------------------------------------------------------
# What goes, line by line; the word is the mutant's kind.
REMOVED = [
    ("fence", r"fence\.proxy\.async"),
    ("fence", r"wgmma\.fence"),
    ("group", r"wgmma\.commit_group"),
    ("group", r"cp\.async\.commit_group"),
    ("group", r"cp\.async\.bulk\.commit_group"),
    ("wait", r"wgmma\.wait_group"),
    ("wait", r"cp\.async\.wait_group"),
    ("wait", r"cp\.async\.bulk\.wait_group"),
    ("barrier", r"(@\S+ )?bar\.(sync|arrive)"),
    ("barrier", r"bar\.warp\.sync"),
    ("barrier", r"barrier\.cluster\.(arrive|wait)"),
    ("arrival", r"\{ \.reg \.b32 there; mapa.*mbarrier\.arrive"),
    ("arrival", r"(@\S+ )?mbarrier\.arrive"),
    ("arrival", r"mbarrier\.init"),
    ("copy", r"cp\.async\.bulk\.tensor\S*mbarrier"),
    ("copy", r"st\.async"),
]
TRY_WAIT = re.compile(
    r"(\s*mbarrier\.try_wait\.parity\S* )(%p\d+), \[(%r\d+)\], (%r\d+);"
)
WORDS = r"(wgmma|cp\.async|cp\.async\.bulk)\.wait_group[a-z.]*"


def of_ptx(text: str) -> Iterator[Mutant]:
    lines = text.split("\n")
    inits = re.findall(r"fence\.mbarrier_init.*", text) or [""]
    for i, line in enumerate(lines):
        op = line.strip()

        def to(kind: str, what: str, *new: str, at: int = i) -> Mutant:
            changed = "\n".join([*lines[:at], *new, *lines[at + 1 :]])
            return Mutant(kind, f"{what}: {lines[at].strip()}", at + 1, changed)

        for kind, pattern in REMOVED:
            if re.match(pattern, op):
                yield to(kind, "removed")
        if op.startswith("fence.mbarrier_init") and op == inits[0]:
            inits = [""]
            # The last one makes ready what the same thread did before the others.
            rest = "\n".join(x for x in lines if x.strip() != op)
            yield Mutant("fence", f"removed, all: {op}", i + 1, rest)
        if m := re.fullmatch(rf"(\s*{WORDS}) (\d+);", line):
            yield to("wait", "one more pending", f"{m[1]} {int(m[3]) + 1};")
        if m := TRY_WAIT.fullmatch(line):
            head, done, bar, phase = m.groups()
            yield to("wait", "removed", f"setp.eq.b32 {done}, 0, 0;")
            yield to(
                "phase", "flipped",
                "{ .reg .b32 flipped;", f"xor.b32 flipped, {phase}, 1;",
                f"{head}{done}, [{bar}], flipped; }}",
            )  # fmt: skip
            for n in (0, 1):
                yield to("phase", f"always {n}", f"{head}{done}, [{bar}], {n};")
            yield to("slot", "the next", f"{head}{done}, [{bar}+8], {phase};")
        if m := re.fullmatch(r"(.*mbarrier\.arrive\S* _, \[%r\d+)(\].*)", line):
            yield to("slot", "the next", f"{m[1]}+8{m[2]}")
        if m := re.fullmatch(r"(.*expect_tx.*, )(\d+);", line):
            for n in (-16, 16):
                yield to("bytes", f"{n} more", f"{m[1]}{int(m[2]) + n};")
        if m := re.fullmatch(r"(\s*mbarrier\.init\S* \[%r\d+\], )(%r\d+|\d+);", line):
            count = re.search(rf"mov\.b32 \s*{m[2]}, (\d+);", text)
            n = int(count[1] if count else m[2])
            yield to("arrival", "one more", f"{m[1]}{n + 1};")
            if n > 1:
                yield to("arrival", "one fewer", f"{m[1]}{n - 1};")
        if m := re.fullmatch(r"(.*bulk\.tensor.*mbarrier.*\[%r\d+)(\];)", line):
            yield to("slot", "the next mbarrier", f"{m[1]}+8{m[2]}")
        m = re.fullmatch(r"(.*bar\.(?:sync|arrive)) (\d), (\d+);", line)
        if m and f"bar.arrive {m[2]}," in text:  # else its name alone changes
            yield to("barrier", "another", f"{m[1]} {int(m[2]) + 4}, {m[3]};")


# --- tile IR -------------------------------------------------------------------------
# Where an op has its slot: the number of the operand.
SLOT = {
    "mbar_wait": 1, "mbar_arrive": 1, "tma_load": 2, "shared_view": 1, "async_copy": 2,
}  # fmt: skip


def next_slot(text: str, slot: str) -> str | None:
    """Tile IR that computes %mutant_later, the slot behind that one, as the kernel does it:
    by a sum that begins anew where it is equal to the number of slots."""
    for up in re.finditer(rf"(%\w+) = add {slot}, (%\w+) : i32", text):
        end = re.search(rf"= eq {up[1]}, (%\w+) : i1", text)
        if not end:
            continue
        step, all_slots = (
            re.findall(rf"{v} = const (\d+) : i32", text)[0] for v in (up[2], end[1])
        )
        return f"""%mutant_step = const {step} : i32
%mutant_all = const {all_slots} : i32
%mutant_up = add {slot}, %mutant_step : i32
%mutant_around = eq %mutant_up, %mutant_all : i1
%mutant_zero = const 0 : i32
%mutant_later = select %mutant_around, %mutant_zero, %mutant_up : i32"""
    return None


def of_simt(text: str) -> Iterator[Mutant]:
    lines = text.split("\n")
    fills = next((i for i, x in enumerate(lines) if x == "  } {"), len(lines))
    wraps = set(re.findall(r"(%\w+) = eq %\w+, %\w+ : i1", text))
    for i, line in enumerate(lines):
        op, who = line.strip(), "fills" if i > fills else "reads"

        def to(kind: str, what: str, *new: str, at: int = i, who: str = who) -> Mutant:
            changed = "\n".join([*lines[:at], *new, *lines[at + 1 :]])
            said = lines[at].split(" : ")[0].strip()
            return Mutant(kind, f"{what}, who {who}: {said}", at + 1, changed)

        m = re.match(rf"(.*?\b({'|'.join(SLOT)}) )((?:%\w+(?:, )?)+)(.*)", line)
        if m:
            operands, k = m[3].split(", "), SLOT[m[2]]
            if later := next_slot(text, operands[k]):
                for what, slot in (
                    ("the next", "%mutant_later"),
                    ("the first", "%mutant_zero"),
                ):
                    changed = ", ".join([*operands[:k], slot, *operands[k + 1 :]])
                    yield to("slot", what, later, f"{m[1]}{changed}{m[4]}")
        if m := re.fullmatch(r"( *%\w+ = )xor (%\d+), %\w+ : i32", line):
            yield to("phase", "stays", f"{m[1]}or {m[2]}, {m[2]} : i32")
        m = re.fullmatch(r"( *%\w+ = )select (%\w+), (%\w+), (%\w+) : i32", line)
        if m and m[2] in wraps:
            for v, what in ((m[3], "the first"), (m[4], "the second")):
                yield to("advance", what, f"{m[1]}or {v}, {v} : i32")
        m = re.search(r"arrivals=(\d+)", line)
        if m and int(m[1]) > 1:
            fewer = line.replace(m[0], f"arrivals={int(m[1]) // 2}")  # 3 are refused
            yield to("arrival", "half", fewer)
        if op.startswith("tma_load") and "pair=1" in op:
            yield to("copy", "for itself", line.replace("pair=1", "pair=0"))
        if re.match(r"turn\b", op):
            yield to("barrier", "removed")


# --- runs ----------------------------------------------------------------------------
class Subject:
    """A kernel after its first launch, whose result was right.

    launch(**options): launches, and gives what was compiled. out: the tensors that it
    writes; is_right(): whether they hold what they must. blocks: how many run the programs
    in turn when it is launched again; 0: as many as then.
    """

    def __init__(
        self,
        launch: Callable[..., Any],
        out: list[Any],
        is_right: Callable[[], bool],
        blocks: int = 0,
    ) -> None:
        self.launch, self.out, self.is_right = launch, out, is_right
        self.fresh = [x.numpy().copy() for x in out]
        self.compiled = launch()
        assert is_right()
        self.ptx = self.compiled.asm["ptx"]
        self.numbers = [simulated.library().ptxsim_keep(blocks)]

    def beside(self, other: Subject) -> Subject:
        """The same code with other numbers, launched behind this one each time."""
        assert other.ptx == self.ptx
        self.out, self.fresh = self.out + other.out, self.fresh + other.fresh
        self.numbers += other.numbers
        mine = self.is_right
        self.is_right = lambda: mine() and other.is_right()
        return self

    def again(self, ptx: str, seed: int) -> str:
        """Why the launch was refused; empty: it was not."""
        for x, fresh in zip(self.out, self.fresh, strict=True):
            x.numpy()[...] = fresh
        refused = (simulated.again(n, ptx, seed) for n in self.numbers)
        return next(filter(None, refused), "")

    def outcome(self, mutant: Mutant, ptx: str) -> Outcome:
        wrong = -1
        for seed in range(SEEDS):
            if why := self.again(ptx, seed):
                return Outcome(mutant, "reported", seed, why)
            if wrong < 0 and not self.is_right():
                wrong = seed
        return Outcome(mutant, "lived" if wrong < 0 else "wrong", wrong, "")

    def outcomes(
        self, folder: Path, every: int = 1, first: int = 0, kinds: str = ""
    ) -> Iterator[Outcome]:
        """Of all mutants, or of every so many-th; of some kinds alone."""
        here = [*of_ptx(self.ptx)]
        there = [*of_simt(self.compiled.asm["simt"])]
        for k, m in enumerate([*here, *there]):
            if k % every != first % every or (kinds and m.kind not in kinds):
                continue
            yield self.outcome(m, m.text if k < len(here) else self.built(m, folder))

    def built(self, m: Mutant, folder: Path) -> str:
        path = folder / f"{len(list(folder.iterdir()))}.simt"
        path.write_text(m.text)
        return self.launch(ir_override=str(path), warm=True).asm["ptx"]


def table(outcomes: list[Outcome]) -> str:
    kinds = sorted({o.mutant.kind for o in outcomes})
    states = ("reported", "wrong", "lived")
    rows = [f"{'kind':9} mutants reported wrong lived seeds"]
    for kind in [*kinds, ""]:
        of = [o for o in outcomes if kind in ("", o.mutant.kind)]
        n = {s: sum(o.state == s for o in of) for s in states}
        most = max((o.seed + 1 for o in of if o.state == "reported"), default=0)
        rows.append(
            f"{kind or 'all':9} {len(of):7} {n['reported']:8} {n['wrong']:5} "
            f"{n['lived']:5} {most:5}"
        )
    return "\n".join(rows)
