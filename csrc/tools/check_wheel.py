"""Holds a built wheel to its promises, and gives it the tag it has earned.

    python csrc/tools/check_wheel.py .whl/tegula-0.1.0-cp311-abi3-linux_x86_64.whl

One wheel for every Python >= 3.11, under 25 MB, needing nothing but the C library, on
x86-64 one of 2018 (csrc/base/glibc.c). The platform tag becomes manylinux_2_N: with it pip
refuses an older C library in words, where the loader would at import.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MAX_BYTES = 25 * 1000 * 1000
MAX_GLIBC = 28  # 2.28: Debian 10, RHEL 8, Ubuntu 20.04, Colab
CORE = "tegula/_core.abi3.so"
# Parts of the C library itself.
MAY_NEED = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux.*)\.so")


def main(path: Path) -> int:
    broken = []
    if "-cp311-abi3-" not in path.name:
        broken.append(f"{path.name} is not for every Python >= 3.11")
    if path.stat().st_size > MAX_BYTES:
        broken.append(f"{path.stat().st_size} bytes; at most {MAX_BYTES}")
    with tempfile.TemporaryDirectory() as tmp, zipfile.ZipFile(path) as wheel:
        core = wheel.extract(CORE, tmp)
        cmd = ["objdump", "-p", "-T", core]
        text = subprocess.run(cmd, capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"NEEDED\s+(\S+)", text):
        if not MAY_NEED.match(library):
            broken.append(f"needs {library}")
    minor = max(int(n) for n in re.findall(r"GLIBC_2\.(\d+)", text))
    machine = path.stem.rpartition("linux_")[2]
    if machine == "x86_64" and minor > MAX_GLIBC:
        new = re.findall(r"\(GLIBC_2\.(?:29|[3-9]\d)\) +(\S+)", text)
        broken.append(f"needs glibc 2.{minor}; base/glibc.c lacks {', '.join(new)}")
    if broken:
        print("\n".join(f"{path.name}: {line}" for line in broken), file=sys.stderr)
        return 1
    tag = f"manylinux_2_{minor}_{machine}"
    cmd = [sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag]
    new = subprocess.run([*cmd, str(path)], capture_output=True, text=True, check=True)
    name = new.stdout.strip().splitlines()[-1]
    size = (path.parent / name).stat().st_size
    print(f"{path.parent / name}  {size / 1e6:.1f} MB, glibc >= 2.{minor}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
