"""Mutated tile IR as text through tirc: an answer or an error, never the end of it.

    python tests/props/fuzz_text.py 0 500       seeds 0 .. 499; prints what went wrong
    TIRC=build/check-address-undefined/tirc     another one, such as a sanitizer's

The .tir files of the tests lose, swap and trade tokens and lines, with each other too;
numbers become odd ones. What a text then means, if anything, is nobody's concern: it is
verified, passes run, code is made for a target that the seed chooses.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIRC = Path(os.environ.get("TIRC", ROOT / "build" / "tirc"))
FILES = sorted((ROOT / "tests").rglob("*.tir"))
GOOD = [f for f in FILES if f.parent.name not in ("verify", "parse")]
SECONDS = 300  # by the clock, and machines are busy
BUGS = re.findall(
    r"^ERR\((\w+),\s*BUG", (ROOT / "csrc/base/errors.def").read_text(), re.M
)
TOKEN = re.compile(r"%[\w.]+|#\w+|\w+(?:\.\w+)?|\s+|.", re.S)
ODD = """
0 1 -1 2 3 7 16 31 32 33 64 255 256 4096 65536 1048576 2147483647 2147483648 4294967295
-2147483648 9223372036854775807 18446744073709551616 1e400 nan -inf 0x7fc00001 true
f32 f16 bf16 i1 i8 i32 i64 u8 u64 f64 f8e5 ptr<f32> smem ptr<ptr<f32>> f32[64] f32[16,16]
i32[] f32[0] f32[3] { } ( ) [ ] ^ : , = -> axis start end perm splat const return yield add
load store reduce for while if scan dot reg lane warp block loc "a" "\\x00" // @ %0 %x #l0
""".split()
KINDS = {
    "type": "f32 f16 bf16 f64 i1 i8 i16 i32 i64 u8 u16 u32 u64 f8e5m2 f8e4m3".split(),
    "binary": "add sub mul div rem min max and or xor shl shr lt le eq ne gt ge".split(),
    "unary": "neg abs sqrt exp exp2 log sin floor ceil rsqrt cast bitcast not".split(),
    "shape": "reshape trans broadcast expand_dims splat join cat gather".split(),
    "memory": "load store atomic_rmw atomic_cas addptr".split(),
}
NUMBERS = [word for word in ODD if word.isdigit()]
WORDS = [
    ("cpu", "verify"),
    ("cpu", "tile"),
    ("cpu", "tile,llir"),
    ("cpu", "llir"),
    ("cpu", "facts"),
    ("cpu", "access"),
    ("emu:80", "tile,simt"),
    ("emu:90a", "tile,simt,llir"),
    ("cuda:80", "tile,simt,llir"),
    ("cuda:90a", "tile,simt,ptx"),
    ("cuda:75", "simt,llir"),
    ("emu:80", "llir"),
]


def tokens(text: str) -> list[str]:
    return TOKEN.findall(text)


def kind(word: str) -> str:
    """Words of one kind stand for each other without an error of the parser."""
    if word.isdigit():
        return "number"
    if word[0] in "%#":
        return word[0]
    return next((k for k, words in KINDS.items() if word in words), word)


def mutate(rng: random.Random, text: str) -> str:
    t = tokens(text)
    real = [i for i, word in enumerate(t) if not word.isspace()]
    if not real:
        return text
    i, k = rng.choice(real), rng.choice(real)
    how = rng.randrange(16)
    if how < 8:  # another of its kind, here or everywhere
        # Not what a line defines, which would only be defined twice.
        known = [i for i in real if kind(t[i]) != t[i] and "\n" not in t[max(i - 1, 0)]]
        i = rng.choice(known or real)
        old, sort = t[i], kind(t[i])
        pool = [w for w in t if not w.isspace() and kind(w) == sort]
        pool += NUMBERS if sort == "number" else KINDS.get(sort, [])
        new = rng.choice(pool)
        t = [new if w == old and (how < 3 or n == i) else w for n, w in enumerate(t)]
    elif how == 8:
        t[i] = rng.choice(ODD)
    elif how == 9:
        t[i] = t[k]
    elif how == 10:
        t[i], t[k] = t[k], t[i]
    elif how == 11:
        del t[i : i + rng.choice([1, 1, 2, 5])]
    else:
        lines = text.splitlines(True)
        i, k = rng.randrange(len(lines)), rng.randrange(len(lines))
        if how == 12:
            del lines[i]
        elif how == 13:
            lines[i], lines[k] = lines[k], lines[i]
        elif how == 14:
            lines.insert(i, lines[k])
        else:
            other = rng.choice(FILES).read_text(encoding="utf-8")
            lines.insert(i, rng.choice(other.splitlines(True)))
        return "".join(lines)
    return "".join(t)


def mutated(seed: int) -> tuple[str, str, list[str]]:
    """The file it was, the text it is, what tirc is asked."""
    rng = random.Random(seed)
    file = rng.choice(FILES if rng.random() < 0.2 else GOOD)
    # The upper half of a golden test, without its comments.
    text = re.split(r"^// ----", file.read_text(encoding="utf-8"), flags=re.M)[0]
    text = re.sub(r"//.*\n", "", text)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        text = mutate(rng, text)
    if rng.random() < 0.02:
        cut = rng.randrange(len(text) + 1)
        text = text[:cut] + rng.choice(["\0", "\xff", "", '"']) + text[cut + 1 :]
    target, words = rng.choice(WORDS)
    return (
        file.name,
        text,
        ["-t", target, "-w", str(rng.choice([1, 2, 4, 8])), words, "-"],
    )


def attempt(seed: int) -> str:
    """ok, refused, or what is wrong with what came."""
    name, text, args = mutated(seed)
    asked = f"seed {seed}: {name}: tirc {' '.join(args)}"
    try:
        done = subprocess.run(
            [TIRC, *args],
            input=text.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"{asked}: no end after {SECONDS} s\n{text}"
    said = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1) or "runtime error" in said:
        return f"{asked}: {done.returncode}\n{said[-3000:]}\n{text}"
    code = re.search(r"\[([A-Z_]+)\]", said)
    # Text that is no function is found by the verifier.
    if code and code[1] in BUGS and "after reading" not in said:
        return f"{asked}: {said}\n{text}"
    return "refused" if done.returncode else "ok"


def main() -> None:
    first, n = int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first, first + n):
        said = attempt(seed)
        if said not in ("ok", "refused"):
            print(said, flush=True)
    print("done")


if __name__ == "__main__":
    main()
