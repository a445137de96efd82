"""Trees on disk: what is parsed once is found again, for the text it was made of alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tegula

SOURCE = '''
import tegula
import tegula.language as tl

@tegula.jit
def helper(x, k: tl.constexpr = 3):
    """Adds."""
    y = x + k if k > 1 else x
    return y * 1.5

@tegula.jit
def kernel(x, out, n, *, BLOCK: tl.constexpr):
    # all that a tree is made of
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (i < n) & (i >= 0)
    total = 0.0
    for k in tl.static_range(2):
        if k == 1 and not BLOCK == 3:
            total += k
        elif k in (4, 5):
            total = -1.0
    while total > 1e30:
        total -= 0x1_0000_0000
    v = tl.load(x + i, mask=mask, other=float("-inf"))
    a, (b, *c) = helper(v), (v, v, v)
    d: tl.float32 = [e + 1 for e in c if True][0] if BLOCK > 2 else v
    tl.static_assert(BLOCK > 0, f"not {BLOCK:>3}")
    tl.store(out + i, tl.softmax(a) + tl.max(b, axis=0)[None] + d + total, mask=mask)
'''
TAIL = """
print(kernel.lower("*fp32", "*fp32", "i32", BLOCK=16))
"""


def lower(folder: Path, source: str, *, cache: Path | None = None) -> str:
    """The kernel's tile IR, or its error, in a process of its own."""
    script = folder / "kernels.py"
    script.write_text(source + TAIL)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(tegula.__file__).parents[1]),
            "TEGULA_CACHE_DIR": str(cache or ""),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def trees(cache: Path) -> dict[str, tuple[int, bytes]]:
    return {
        p.name: (p.stat().st_mtime_ns, p.read_bytes())
        for p in cache.glob("v2/trees/*.tree")
    }


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_the_same_ir_without_a_parser(tmp_path: Path, cache: Path) -> None:
    parsed = lower(tmp_path, SOURCE)
    assert "func @kernel" in parsed
    assert lower(tmp_path, SOURCE, cache=cache) == parsed
    kept = trees(cache)
    assert len(kept) == 3  # kernel, helper, tl.softmax
    no_parser = """
import builtins
def compile(*args, **kwargs):
    raise AssertionError("parsed again")
builtins.compile = compile
"""
    lines = SOURCE.split("\n")
    hidden = "\n".join([*lines[:3], "exec(" + repr(no_parser) + ")", *lines[4:]])
    assert lower(tmp_path, hidden, cache=cache) == parsed
    assert trees(cache) == kept, "written again"


def test_what_is_read_is_not_the_oldest(tmp_path: Path, cache: Path) -> None:
    """Pruning drops what was not used for longest, and a tree that is read is used."""
    lower(tmp_path, SOURCE, cache=cache)
    files = sorted(cache.glob("v2/trees/*.tree"))
    for file in files:
        os.utime(file, (1, 1))
    unused = SOURCE.replace("tl.softmax(a)", "a")
    lower(tmp_path, unused, cache=cache)
    assert sum(file.stat().st_mtime == 1 for file in files) == 1


def test_places_are_kept(tmp_path: Path, cache: Path) -> None:
    """A message shows the same line and columns, whether the tree was parsed or read."""
    wrong = SOURCE.replace("tl.static_assert(BLOCK > 0", "tl.static_assert(BLOCK < 0")
    parsed = lower(tmp_path, wrong)
    assert "not  16" in parsed and "kernels.py" in parsed
    for _ in range(2):
        assert lower(tmp_path, wrong, cache=cache) == parsed


EDITS = {
    "a constant": ("y * 1.5", "y * 2.5"),
    "a name": ("return y * 1.5", "return x * 1.5"),
    "a line behind the last": ("return y * 1.5\n", "y = y + 7\n    return y\n"),
    "a comment": ("# all that a tree is made of", "# nothing"),
    "a default": ("k: tl.constexpr = 3", "k: tl.constexpr = 5"),
    "the end of a block": (
        "            total = -1.0\n",
        "            total = -1.0\n        total += 8\n",
    ),
    "what follows goes deeper": (
        "    return y * 1.5\n",
        "    z = y * 1.5\n    # deeper\n    return z\n",
    ),
    "a file of Windows": ("\n", "\r\n"),
    "tabs": ("    y = x + k if k > 1 else x\n    return", "    y = x\n    return"),
}


@pytest.mark.parametrize("name", EDITS)
def test_another_text_is_another_tree(name: str, tmp_path: Path, cache: Path) -> None:
    first = lower(tmp_path, SOURCE, cache=cache)
    old, new = EDITS[name]
    edited = SOURCE.replace(old, new)
    want = lower(tmp_path, edited)
    assert "func @kernel" in want
    for _ in range(2):
        assert lower(tmp_path, edited, cache=cache) == want
    assert lower(tmp_path, SOURCE, cache=cache) == first


def test_a_line_that_joins_the_function(tmp_path: Path, cache: Path) -> None:
    """The text that was kept is all there, and the function has one line more."""
    first = lower(tmp_path, SOURCE, cache=cache)
    longer = SOURCE + "    tl.store(out, 5.0)\n"
    assert lower(tmp_path, longer, cache=cache) == lower(tmp_path, longer) != first


@pytest.mark.parametrize("damage", ["empty", "short", "flipped", "foreign", "a link"])
def test_a_damaged_tree_is_made_again(damage: str, tmp_path: Path, cache: Path) -> None:
    want = lower(tmp_path, SOURCE, cache=cache)
    kept = trees(cache)
    files = sorted(cache.glob("v2/trees/*.tree"))
    for i, path in enumerate(files):
        data = bytearray(path.read_bytes())
        if damage == "flipped":
            data[len(data) // 2] ^= 1
        elif damage == "foreign":
            data[:] = kept[files[i - 1].name][1]
        path.write_bytes(data[: {"empty": 0, "short": 90}.get(damage, len(data))])
        if damage == "a link":
            path.rename(tmp_path / path.name)
            path.symlink_to(tmp_path / path.name)
    assert lower(tmp_path, SOURCE, cache=cache) == want


def test_functions_inside_of_functions_are_parsed(tmp_path: Path, cache: Path) -> None:
    nested = SOURCE.replace("    return y * 1.5", "    return (lambda t: t * 1.5)(y)")
    want = lower(tmp_path, nested)
    for _ in range(2):
        assert lower(tmp_path, nested, cache=cache) == want
    assert any(b"def kernel" in data for _, data in trees(cache).values())
    assert not any(b"def helper" in data for _, data in trees(cache).values())


def test_what_linecache_was_told_is_parsed(tmp_path: Path, cache: Path) -> None:
    """A notebook's cell has a name that a file may have, too."""
    want = lower(tmp_path, SOURCE, cache=cache)
    told = (
        SOURCE
        + """
import linecache
with open(__file__) as f:
    text = f.read().replace("y * 1.5", "y * 4.5")
linecache.cache[__file__] = (len(text), None, text.splitlines(True), __file__)
"""
    )
    assert "4.5" in lower(tmp_path, told, cache=cache)
    assert lower(tmp_path, SOURCE, cache=cache) == want


def test_pruned_with_the_rest(tmp_path: Path, cache: Path) -> None:
    lower(tmp_path, SOURCE, cache=cache)
    assert trees(cache)
    assert tegula._core.prune_cache(str(cache), 0) > 0
    assert not trees(cache)
