"""C and C++ built when first asked for, and kept: ``compile_module_from_src``.

Nothing here needs it, as launches are not generated. Programs that come with C of their own
(a custom driver, a profiler) build it with this: a module of Python that is imported, or
the path of a shared library (``compile_so_..``); from a text, or from a file.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import shutil
import stat
import subprocess
import sysconfig
import tempfile
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from tegula import knobs
from tegula.runtime.cache import get_cache_manager

# The names of compilers and the ends of files, by language.
_COMPILERS = {"c": ("cc", "gcc", "clang"), "c++": ("c++", "g++", "clang++")}
_FILES = {"c": (".c",), "c++": (".cpp", ".cc", ".cxx")}


def _compiler(language: str) -> str:
    variable = "CC" if language == "c" else "CXX"
    chosen = knobs.build.cc if language == "c" else os.environ.get(variable)
    for name in (chosen, *_COMPILERS[language]):
        path = shutil.which(name) if name else None
        if path:
            return path
    raise RuntimeError(
        f"there is no compiler of {language}: install gcc or clang, or set {variable}"
    )


def _language_of(path: str) -> str:
    for language, ends in _FILES.items():
        if path.endswith(ends):
            return language
    known = ", ".join(end for ends in _FILES.values() for end in ends)
    raise ValueError(f"{path}: the name says no language; known are {known}")


@functools.cache
def platform_key() -> str:
    """What a library built here needs of a machine, as a text."""
    return ",".join([platform.machine(), platform.system(), *platform.architecture()])


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
    language: str = "c",
) -> str:
    """Compile the file src into a module of Python in srcdir; its path."""
    given = (library_dirs, include_dirs, libraries, ccflags)
    if knobs.build.impl:
        return str(knobs.build.impl(name, src, srcdir, *given))
    out = os.path.join(srcdir, name + _suffix())
    includes = [srcdir, sysconfig.get_paths()["include"], *include_dirs]
    command = [_compiler(language), src, "-o", out]
    command += "-O3 -shared -fPIC -Wno-psabi".split()
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


def _kept(
    src: bytes,
    name: str,
    options: Sequence[Sequence[str] | None],
    language: str,
    use: Callable[[str, str], Any],
) -> Any:
    """use(name, path) of the library of a source, which is built unless it is kept.

    A file of the cache that is another user's, or that cannot be used, is built anew."""
    if language not in _FILES:
        raise ValueError(f"the language is 'c' or 'c++', not {language!r}")
    given = [list(x or ()) for x in options]
    text = repr((src, name, given, language, _suffix(), platform_key()))
    cache = get_cache_manager(hashlib.sha256(text.encode()).hexdigest())
    path = cache.get_file(name + _suffix())
    if path is not None:
        try:
            if _is_private(path):
                return use(name, path)
            _warn_of_others(path)
        except (ImportError, OSError):
            pass  # a damaged file, or another machine's: built anew, over it
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, name + _FILES[language][0])
        with open(file, "wb") as f:
            f.write(src)
        dirs, includes, libraries, flags = given
        built = _build(name, file, folder, dirs, includes, libraries, flags, language)
        with open(built, "rb") as f:
            path = cache.put(f.read(), name + _suffix(), binary=True)
        if not _is_private(path):  # the directory is not: what lies here is ours
            return use(name, _stays(built) if use is _path else built)
    return use(name, path)


def _path(name: str, path: str) -> str:
    return path


def _stays(path: str) -> str:
    """A copy of a library in a directory of this user's that outlives the build."""
    return shutil.copy(path, tempfile.mkdtemp(prefix="tegula-"))


def _text(src_path: str) -> bytes:
    with open(src_path, "rb") as f:
        return f.read()


def _beside(src_path: str, include_dirs: Sequence[str] | None) -> list[str]:
    """A file may include its neighbours: it is built elsewhere."""
    return [*(include_dirs or ()), os.path.dirname(os.path.abspath(src_path))]


def compile_module_from_src(
    src: str,
    name: str,
    library_dirs: Sequence[str] | None = None,
    include_dirs: Sequence[str] | None = None,
    libraries: Sequence[str] | None = None,
    ccflags: Sequence[str] | None = None,
    language: str = "c",
) -> ModuleType:
    """The module ``name`` of C or C++ source with a ``PyInit_name``; built once."""
    given = (library_dirs, include_dirs, libraries, ccflags)
    module: ModuleType = _kept(src.encode(), name, given, language, _load)
    return module


def compile_module_from_file(
    src_path: str,
    name: str,
    library_dirs: Sequence[str] | None = None,
    include_dirs: Sequence[str] | None = None,
    libraries: Sequence[str] | None = None,
    ccflags: Sequence[str] | None = None,
) -> ModuleType:
    """The same of a file, whose name says the language."""
    given = (library_dirs, _beside(src_path, include_dirs), libraries, ccflags)
    language = _language_of(src_path)
    module: ModuleType = _kept(_text(src_path), name, given, language, _load)
    return module


def compile_so_from_src(
    src: str,
    name: str,
    library_dirs: Sequence[str] | None = None,
    include_dirs: Sequence[str] | None = None,
    libraries: Sequence[str] | None = None,
    ccflags: Sequence[str] | None = None,
    language: str = "c",
) -> str:
    """The path of a shared library of C or C++ source, for ctypes; built once a source."""
    given = (library_dirs, include_dirs, libraries, ccflags)
    return str(_kept(src.encode(), name, given, language, _path))


def compile_so_from_file(
    src_path: str,
    name: str,
    library_dirs: Sequence[str] | None = None,
    include_dirs: Sequence[str] | None = None,
    libraries: Sequence[str] | None = None,
    ccflags: Sequence[str] | None = None,
) -> str:
    """The same of a file, whose name says the language."""
    given = (library_dirs, _beside(src_path, include_dirs), libraries, ccflags)
    language = _language_of(src_path)
    return str(_kept(_text(src_path), name, given, language, _path))
