"""Cases as files of kernels."""

from __future__ import annotations

import hashlib
import itertools
import re
from functools import cache
from pathlib import Path

from case import Array, Case, Constant, elements

HEAD = """import triton
import triton.language as tl
from prelude import *
from triton.language.extra import libdevice
"""
PACK = 12  # cases of one kernel


def names(case: Case) -> list[str]:
    return [*(a.name for a in case.args), "o", "t"]


def head(case: Case, name: str) -> str:
    params = [a.name + ": tl.constexpr" * isinstance(a, Constant) for a in case.args]
    return f"\n\n@triton.jit\ndef {name}({', '.join([*params, 'o', 't'])}):\n"


def function(case: Case, name: str) -> str:
    """The case as a function of its arguments, of memory for results, and for types."""
    slot = itertools.count()

    def put(_: re.Match[str]) -> str:
        i = next(slot)
        return f"put_at(o + {i * case.room}, t + {i}, "

    body = re.sub(r"\bput\(", put, case.body)
    body = re.sub(r"\bI\b", "tl.arange(0, I_LEN)", body)
    return head(case, name) + "".join(f"    {line}\n" for line in body.split("\n"))


def text(cases: list[Case]) -> str:
    """case_0 .. and `kernel`, which is all of them one after another."""
    parts = [HEAD]
    calls = []
    o = t = 0
    parts += [f"\n\n{helpers}" for helpers in {c.helpers: 0 for c in cases} if helpers]
    for i, case in enumerate(cases):
        parts.append(function(case, f"case_{i}"))
        words = [*names(case)[:-2], f"o + {o}", f"t + {t}"]
        calls.append(f"    case_{i}({', '.join(words)})\n")
        o += case.room * case.slots
        t += case.slots
    return "".join([*parts, head(cases[0], "kernel"), *calls])


def alone(case: Case) -> bool:
    """Shares no kernel: is large, or its memory is a result."""
    return case.room > 8192 or any(getattr(a, "kind", "") == "zero" for a in case.args)


def groups(cases: list[Case]) -> list[list[Case]]:
    """Cases that can share a kernel have the same arguments."""
    by_key: dict[tuple, list[Case]] = {}
    for case in cases:
        own = case.name if alone(case) else ""
        options = tuple(sorted(case.options.items()))
        key = (case.args, case.warps, case.grid, options, case.helpers, own)
        by_key.setdefault(key, []).append(case)
    return [
        some[i : i + PACK]
        for some in by_key.values()
        for i in range(0, len(some), PACK)
    ]


@cache
def memory_hash(a: Array) -> bytes:
    return hashlib.sha1(elements(a).tobytes()).digest()


@cache
def prelude() -> bytes:
    return Path(__file__).with_name("prelude.py").read_bytes()


def identity(case: Case) -> str:
    """The same for cases of one text, one launch and one memory: answers may be kept."""
    launch = (case.warps, case.grid, case.rows, case.room, sorted(case.options.items()))
    said = hashlib.sha1(prelude())
    said.update(f"{case.name} {text([case])}{case.args}{launch}".encode())
    for a in case.args:
        if isinstance(a, Array):
            given = case.given.get(a.name)
            said.update(memory_hash(a) if given is None else given.tobytes())
    return said.hexdigest()[:16]


def write(folder: Path, name: str, cases: list[Case]) -> Path:
    path = folder / f"{name}.py"
    path.write_text(text(cases))
    return path
