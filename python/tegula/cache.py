"""The cache on disk, for people: ``python -m tegula cache list | verify | prune``.

Kernels are read and written by ``csrc/runtime/disk.c``; this module only looks at the
files: a head of magic, build, key, length and checksum, then the variant.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tegula import _core, knobs, tuning

HEAD = struct.Struct("<8s20s4x32sQQ")
MAGIC = b"TEGULA3\n"
LARGEST = 1 << 28


class Entry(NamedTuple):
    path: Path
    size: int
    used: float  # seconds since 1970
    name: str
    target: str
    problem: str | None  # what is wrong with the file


def entries() -> Iterator[Entry]:
    """Every file of the cache, the least recently used first."""
    root = Path(knobs.cache.dir or "/nonexistent", "v2")
    files = [(p.lstat().st_mtime, p) for p in root.glob("*/*.bin")]
    for used, path in sorted(files):
        try:
            data = read_private(path)
        except OSError as e:
            yield Entry(path, 0, used, "", "", e.strerror or str(e))
        else:
            yield Entry(path, len(data), used, *_describe(data))


def read_private(path: str | Path) -> bytes:
    """The bytes of a regular file that nobody else may write; else an OSError says why.

    The same rules as C's: links are not followed, and a FIFO does not hold us up.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(fd, "rb") as f:
        s = os.fstat(fd)
        if not stat.S_ISREG(s.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if s.st_uid not in (os.geteuid(), 0) or s.st_mode & 0o022:
            raise OSError(errno.EPERM, "others may have written it")
        if s.st_size > LARGEST:
            raise OSError(errno.EFBIG, "too large")
        return f.read()


def _describe(data: bytes) -> tuple[str, str, str | None]:
    if len(data) < HEAD.size:
        return "", "", "too short"
    magic, _, _, n, checksum = HEAD.unpack_from(data)
    body = data[HEAD.size :]
    if magic != MAGIC:
        return "", "", "not a kernel"
    if n != len(body):
        return "", "", f"{len(body)} bytes instead of {n}"
    if _core.hash_bytes(body) != checksum:
        return "", "", "checksum is wrong"
    (n_name,) = struct.unpack_from("<Q", body)
    name = body[8 : 8 + n_name].decode()
    kind, sm, accelerated = struct.unpack_from("<3q", body, 8 + n_name)
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
    tuned = tuning.kept(knobs.cache.dir) if knobs.cache.dir else []
    if tuned:
        print(f"{len(tuned)} results of autotuning: python -m tegula tune list")
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
    if limit == 0 and knobs.cache.dir:  # all of it
        for path in tuning.kept(knobs.cache.dir):
            freed += os.path.getsize(path)
            os.unlink(path)
    print(f"{freed} bytes freed")
    return 0
