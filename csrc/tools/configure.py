"""Find LLVM, Python's headers, dlpack.h and cuda.h; write them down for csrc/Makefile.

    python csrc/tools/configure.py build/config.mk

Runs at the start of every make (some 60 ms) and writes the file only when an answer
has changed, so the objects that depend on it are rebuilt exactly then. What is missing
is reported here, in words, instead of as a compiler's or a linker's error.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

OLDEST, NEWEST = 19, 22
# Only what the compiler uses: `native` is the host's own code generator, linker joins
# libdevice, irreader and bitreader read it.
COMPONENTS = (
    "core support analysis target passes orcjit linker bitreader bitwriter irreader "
    "native nvptx"
).split()


class Missing(Exception):
    """Something the build needs is not on this machine; the text says how to get it."""


def output(*cmd: str) -> str | None:
    """What cmd prints, or None when it cannot be run or fails."""
    try:
        return subprocess.run(
            cmd, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def major(llvm_config: str) -> int | None:
    match = re.match(r"(\d+)\.", output(llvm_config, "--version") or "")
    return int(match[1]) if match else None


def find_llvm() -> str:
    asked = os.environ.get("TEGULA_LLVM_CONFIG")
    if asked:
        version = major(asked)
        if version is None:
            raise Missing(f"TEGULA_LLVM_CONFIG={asked} cannot be run")
        if version < OLDEST:
            raise Missing(
                f"TEGULA_LLVM_CONFIG={asked} is LLVM {version}; need >= {OLDEST}"
            )
        return asked
    for n in range(NEWEST, OLDEST - 1, -1):
        for name in (
            f"llvm-config-{n}",
            f"llvm-config-{n}-64",
            f"/usr/lib/llvm-{n}/bin/llvm-config",
            f"/usr/lib64/llvm{n}/bin/llvm-config",
        ):
            path = shutil.which(name)
            if path and major(path) == n and not absent_archives(path):
                return path
    path = shutil.which("llvm-config")
    if path and OLDEST <= (major(path) or 0) <= NEWEST:
        return path
    raise Missing(
        f"no LLVM {OLDEST}..{NEWEST} with static libraries found.\n"
        f"  Debian, Ubuntu:  apt-get install llvm-{NEWEST}-dev  (or -21-, -20-, -19-)\n"
        f"  Fedora:          dnf install llvm-devel llvm-static\n"
        f"  elsewhere:       set TEGULA_LLVM_CONFIG to the path of an llvm-config"
    )


def absent_archives(llvm_config: str) -> list[str]:
    """Archives of COMPONENTS that llvm-config names and the disk does not have."""
    files = output(llvm_config, "--link-static", "--libfiles", *COMPONENTS)
    return [
        f for f in (files or "(llvm-config failed)").split() if not Path(f).is_file()
    ]


def llvm() -> dict[str, str]:
    path = find_llvm()
    absent = absent_archives(path)
    if absent:
        raise Missing(
            f"{path} names {absent[0]}, which is not there: install llvm-N-dev"
        )
    return {
        "LLVM_VERSION": output(path, "--version") or "",
        "LLVM_CFLAGS": f"-isystem {output(path, '--includedir')}",
        "LLVM_LIBS": output(path, "--link-static", "--libfiles", *COMPONENTS) or "",
        "LLVM_SYSLIBS": " ".join(system_libs(path)),
    }


def system_libs(llvm_config: str) -> list[str]:
    """Libraries beside LLVM's own, as static archives wherever there is one.

    Distributions list libz3 and libxml2 too. What we take from LLVM never reaches them
    (they serve the static analyser and Windows manifests), so they are not linked. zlib
    and zstd are reached, and not every system that runs the wheel has them.
    """
    named = (
        output(llvm_config, "--link-static", "--system-libs", *COMPONENTS) or ""
    ).split()
    libs = []
    for item in named:
        name = re.sub(r"^-l|^.*/lib|\.(so|a)$", "", item)
        if name in ("z", "zstd", "tinfo"):
            libs.append(archive(name) or f"-l{name}")
    return [*libs, "-lpthread", "-ldl", "-lrt", "-lm"]


def archive(name: str) -> str | None:
    cc = shlex.split(os.environ.get("CC", "cc"))  # "ccache gcc" is two words
    path = output(*cc, f"-print-file-name=lib{name}.a")
    return path if path and os.path.isabs(path) else None


def python_headers() -> str:
    include = sysconfig.get_paths()["include"]
    if not Path(include, "Python.h").is_file():
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise Missing(
            f"{include}/Python.h is missing: apt-get install python{version}-dev "
            f"(Fedora: python{version}-devel), or choose another with PYTHON=..."
        )
    return include


def cuda_homes() -> list[Path]:
    named = [os.environ.get(v) for v in ("CUDA_HOME", "CUDA_PATH")]
    return [Path(h) for h in named if h] + [Path("/usr/local/cuda"), Path("/usr")]


def package_dirs(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    return [Path(d) for d in (spec.submodule_search_locations or [])] if spec else []


def header(
    variable: str, name: str, needs: str, places: list[Path], package: str
) -> str:
    """The directory that holds header `name` whose text contains `needs`.

    Only types are taken from it: nothing of the package or toolkit is linked.
    """
    asked = os.environ.get(variable)
    for place in [Path(asked)] if asked else places:
        file = place / name
        if file.is_file() and needs in file.read_text(errors="replace"):
            return str(place)
    raise Missing(
        f"{name} (with {needs}) not found"
        + (f" in {variable}={asked}" if asked else "")
        + f": pip install {package}, or set {variable} to its include directory"
    )


def headers() -> dict[str, str]:
    dlpack = header(
        "TEGULA_DLPACK_INCLUDE",
        "dlpack/dlpack.h",
        "DLPackExchangeAPI",
        [p / "include" for p in package_dirs("tvm_ffi")] + [Path("/usr/include")],
        "apache-tvm-ffi",
    )
    wheels = [p for d in package_dirs("nvidia") for p in sorted(d.glob("cu*/include"))]
    wheels += [d / "cuda_runtime/include" for d in package_dirs("nvidia")]
    cuda = header(
        "TEGULA_CUDA_INCLUDE",
        "cuda.h",
        "cuTensorMapEncodeTiled",
        wheels[::-1] + [h / "include" for h in cuda_homes()],
        "nvidia-cuda-runtime",
    )
    return {"DLPACK_CFLAGS": f"-isystem {dlpack}", "CUDA_CFLAGS": f"-isystem {cuda}"}


def linker() -> str:
    """lld links LLVM's archives some ten times faster than bfd; any linker will do."""
    for name in ("ld.lld", *(f"ld.lld-{n}" for n in range(NEWEST, OLDEST - 1, -1))):
        path = shutil.which(name)
        # gcc takes -fuse-ld=lld and looks for ld.lld beside itself and on PATH; for a
        # versioned name the directory that holds plain ld.lld goes in front.
        if path:
            real = Path(os.path.realpath(path)).parent
            if (real / "ld.lld").exists():
                return f"-fuse-ld=lld -B{real}"
    return "-fuse-ld=gold" if shutil.which("ld.gold") else ""


def main(out: Path) -> int:
    try:
        found = {**llvm(), **headers(), "PY_CFLAGS": f"-isystem {python_headers()}"}
    except Missing as err:
        print(f"tegula: cannot build: {err}", file=sys.stderr)
        return 1
    found["LINKER"] = linker()
    text = "# Written by csrc/tools/configure.py.\n"
    text += "".join(f"{name} := {value}\n" for name, value in found.items())
    if not out.is_file() or out.read_text() != text:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
