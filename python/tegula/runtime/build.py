"""C modules built when they are first asked for, and kept: ``compile_module_from_src``.

Nothing here needs it, as launches are not generated. Programs that come with C of their own
(a custom driver, a profiler) build it with this.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import shutil
import stat
import subprocess
import sysconfig
import tempfile
import warnings
from collections.abc import Sequence
from types import ModuleType

from tegula import knobs
from tegula.runtime.cache import get_cache_manager


def _compiler() -> str:
    for name in (knobs.build.cc, "cc", "gcc", "clang"):
        path = shutil.which(name) if name else None
        if path:
            return path
    raise RuntimeError("there is no C compiler: install gcc or clang, or set CC")


def _suffix() -> str:
    return sysconfig.get_config_var("EXT_SUFFIX") or ".so"


def _build(
    name: str,
    src: str,
    srcdir: str,
    library_dirs: Sequence[str],
    include_dirs: Sequence[str],
    libraries: Sequence[str],
    ccflags: Sequence[str] = (),
) -> str:
    """Compile the file src into a module of Python in srcdir; its path."""
    given = (library_dirs, include_dirs, libraries, ccflags)
    if knobs.build.impl:
        return str(knobs.build.impl(name, src, srcdir, *given))
    out = os.path.join(srcdir, name + _suffix())
    includes = [srcdir, sysconfig.get_paths()["include"], *include_dirs]
    command = [_compiler(), src, "-O3", "-shared", "-fPIC", "-Wno-psabi", "-o", out]
    command += [f"-l{lib}" for lib in libraries]
    command += [f"-L{path}" for path in library_dirs]
    command += [f"-I{path}" for path in includes]
    command += ccflags
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return out


def _is_private(path: str) -> bool:
    """Is it this user's, a file in a directory, and may nobody else write either?"""
    for at, is_kind in ((os.path.dirname(path), stat.S_ISDIR), (path, stat.S_ISREG)):
        s = os.lstat(at)
        if not is_kind(s.st_mode) or s.st_mode & 0o022:
            return False
        if s.st_uid not in (os.geteuid(), 0):
            return False
    return True


@functools.cache
def _warn_of_others(path: str) -> None:
    warnings.warn(
        f"{path} is not used: another user owns it, or may write there",
        RuntimeWarning,
        stacklevel=3,
    )


def _load(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_module_from_src(
    src: str,
    name: str,
    library_dirs: Sequence[str] | None = None,
    include_dirs: Sequence[str] | None = None,
    libraries: Sequence[str] | None = None,
    ccflags: Sequence[str] | None = None,
) -> ModuleType:
    """The module ``name`` of C source with a ``PyInit_name``; built once a source."""
    given = [list(x or ()) for x in (library_dirs, include_dirs, libraries, ccflags)]
    text = repr((src, name, given, _suffix()))
    cache = get_cache_manager(hashlib.sha256(text.encode()).hexdigest())
    path = cache.get_file(name + _suffix())
    if path is not None:
        try:
            if _is_private(path):
                return _load(name, path)
            _warn_of_others(path)
        except (ImportError, OSError):
            pass  # a damaged file, or another machine's: built anew, over it
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, f"{name}.c")
        with open(file, "w") as f:
            f.write(src)
        built = _build(name, file, folder, *given)
        with open(built, "rb") as f:
            path = cache.put(f.read(), name + _suffix(), binary=True)
        if not _is_private(path):  # the directory is not: what lies here is ours
            return _load(name, built)
    return _load(name, path)
