"""The cache on disk, for people: ``python -m tegula cache list | verify | prune``.

Kernels are read and written by ``csrc/runtime/disk.c``; this module only looks at the
files: a head of magic, length and checksum, then the variant.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tegula import _core, knobs

HEAD = struct.Struct("<8sQQ")
MAGIC = b"TEGULA1\n"


class Entry(NamedTuple):
    path: Path
    size: int
    used: float  # seconds since 1970
    name: str
    target: str
    problem: str | None  # what is wrong with the file


def entries() -> Iterator[Entry]:
    """Every file of the cache, the least recently used first."""
    root = Path(knobs.cache.dir or "/nonexistent", "v1")
    files = [(p.stat().st_mtime, p) for p in root.glob("*/*.bin")]
    for used, path in sorted(files):
        data = path.read_bytes()
        yield Entry(path, len(data), used, *_describe(data))


def _describe(data: bytes) -> tuple[str, str, str | None]:
    if len(data) < HEAD.size:
        return "", "", "too short"
    magic, n, checksum = HEAD.unpack_from(data)
    body = data[HEAD.size :]
    if magic != MAGIC:
        return "", "", "not a kernel"
    if n != len(body):
        return "", "", f"{len(body)} bytes instead of {n}"
    if _core.hash_bytes(body) != checksum:
        return "", "", "checksum is wrong"
    (n_name,) = struct.unpack_from("<Q", body)
    name = body[8 : 8 + n_name].decode()
    (n_facts,) = struct.unpack_from("<Q", body, 8 + n_name)
    kind, sm, accelerated = struct.unpack_from("<3q", body, 16 + n_name + n_facts)
    target = ("cpu", "cuda", "emu")[kind]
    if sm:
        target += f":sm_{sm}{'a' if accelerated else ''}"
    return name, target, None


def show() -> int:
    total = 0
    for e in entries():
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(e.used))
        name = f"{e.name} for {e.target}" if not e.problem else f"DAMAGED: {e.problem}"
        print(f"{when}  {e.size:>9}  {e.path.parent.name[:12]}  {name}")
        total += e.size
    print(f"{total} bytes of {knobs.cache.max_bytes} in {knobs.cache.dir}")
    return 0


def verify() -> int:
    """Report and remove damaged files; 1 when there were any."""
    n = bad = 0
    for e in entries():
        n += 1
        if e.problem:
            bad += 1
            print(f"{e.path}: {e.problem}; removed")
            e.path.unlink(missing_ok=True)
    print(f"{n} kernels, {bad} damaged")
    return 1 if bad else 0


def prune(max_bytes: int | None = None) -> int:
    """Drop the least recently used until max_bytes are left."""
    limit = knobs.cache.max_bytes if max_bytes is None else max_bytes
    freed = _core.prune_cache(str(knobs.cache.dir), limit) if knobs.cache.dir else 0
    print(f"{freed} bytes freed")
    return 0
