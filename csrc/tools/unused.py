"""Functions that nothing of the extension reaches: what only tests or tools call.

    python csrc/tools/unused.py        builds without optimisation, which inlines nothing

Every function has a section of its own, and the linker drops those that PyInit__core does
not lead to (--gc-sections). Status 1 where one is dropped that has no row in KNOWN.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = "build/unused"

KNOWN = {
    "arena_bytes": "tests/c/base.c",
    "kernel_shared_bytes": "tools/ptxsim",
    "refused_shape": "tools/ptxsim, by tmap_encode",
    "tmap_encode": "tools/ptxsim",
}
# As lld says it, then as GNU's linkers do.
DROPPED = re.compile(
    r"unused section (?P<file>\S+\.o):\(\.text\.(?P<name>\w+)\)"
    r"|unused section '\.text\.(?P<name2>\w+)' in file '(?P<file2>[^']+\.o)'"
)


def main() -> int:
    linked = ROOT / BUILD / "debug/_core.abi3.so"
    linked.unlink(missing_ok=True)
    made = subprocess.run(
        [
            *("make", "-f", "csrc/Makefile", f"-j{os.cpu_count()}", "core"),
            *("TEGULA_DEBUG=1", f"BUILD_DIR={BUILD}", f"OUT={BUILD}/core.so"),
            *(f"PYTHON={sys.executable}", "LDFLAGS=-Wl,--print-gc-sections"),
        ],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if made.returncode:
        print(made.stdout[-2000:], made.stderr[-2000:], file=sys.stderr)
        return 2
    dropped = {
        (m["name"] or m["name2"], m["file"] or m["file2"])
        for m in DROPPED.finditer(made.stdout + made.stderr)
    }
    ours = sorted((f, name) for name, f in dropped if "/csrc/" in f)
    for file, name in ours:
        source = file[file.index("/csrc/") + 1 : -1] + "c"
        print(
            f"{source}: {name}: {KNOWN.get(name, 'nobody, or tests and tools alone')}"
        )
    gone = sorted(set(KNOWN) - {name for _, name in ours})
    for name in gone:
        print(f"csrc/tools/unused.py: {name} is reached, or gone")
    return 1 if gone or any(name not in KNOWN for _, name in ours) else 0


if __name__ == "__main__":
    sys.exit(main())
