"""``import triton`` means tegula, for programs that import it themselves.

    python -m tegula.compat script.py ...       a program as it is
    import tegula.compat; tegula.compat.install()

After ``install()``, ``triton`` is a module of its own that looks its names up in
``tegula``: ``triton.__version__`` is the version of Triton whose language is spoken here,
``triton.__tegula_version__`` ours. Submodules are tegula's own objects under Triton's
names, so a ``tl.float32`` is the same from either side. What a program assigns to
``triton`` (some replace ``triton.autotune``) stays there.

A name of Triton's that has no counterpart is an ImportError that says so.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import tegula

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:  # what has their methods is one, and importing them takes as long as all of tegula
    Loader = MetaPathFinder = object

# What libraries compare. One that insists on another is told what TEGULA_TRITON_VERSION
# says; the language is the same. (knobs has the row of it, and imports us to be made.)
TRITON_VERSION = os.environ.get("TEGULA_TRITON_VERSION") or "3.9.0"

# Triton's modules that have another name here. Modules that are not in this table have
# the same name in both: triton.language.math is tegula.language.math.
ALIASES = {
    "triton._C": "tegula.compat.libtriton",
    "triton._C.libtriton": "tegula.compat.libtriton",
    "triton._C.libtriton.linear_layout": "tegula.tools.linear_layout",
    "triton._compile_warmup_pool": "tegula.compat.warmup_pool",
    "triton._internal_testing": "tegula.compat._internal_testing",
    "triton._utils": "tegula.compat.utils",
    "triton.backends": "tegula.compat.backends",
    "triton.backends.compiler": "tegula.compat.backends",
    "triton.backends.driver": "tegula.compat.driver",
    "triton.backends.nvidia": "tegula.compat.nvidia",
    "triton.backends.nvidia.compiler": "tegula.compat.nvidia",
    "triton.backends.nvidia.driver": "tegula.compat.nvidia",
    "triton.compiler": "tegula.compat.compiler",
    "triton.compiler.code_generator": "tegula.compat.code_generator",
    "triton.compiler.compiler": "tegula.compat.compiler",
    "triton.compiler.errors": "tegula.errors",
    "triton.experimental": "tegula.compat.experimental",
    "triton.experimental.gluon": "tegula.compat.experimental.gluon",
    "triton.experimental.gluon.language": "tegula.compat.experimental.gluon.language",
    "triton.runtime._allocation": "tegula.tensors",
    "triton.runtime._async_compile": "tegula.compat.async_compile",
    "triton.runtime.autotuner": "tegula.autotune",
    "triton.runtime.driver": "tegula.compat.driver",
    "triton.runtime.errors": "tegula.errors",
    "triton.runtime.jit": "tegula.jit",
    "triton.language.extra.cuda.libdevice": "tegula.language.extra.libdevice",
    "triton.language.extra.cuda.gdc": "tegula.language.extra.cuda",
    "triton.language.extra.cuda.utils": "tegula.language.extra.cuda",
    "triton.language.semantic": "tegula.language.core",
}

# What Triton's API alone needs lies here, and has Triton's names under tegula as well:
# from tegula.compiler import ASTSource.
_MOVED = {
    f"tegula.{m}": f"tegula.compat.{m}" for m in ("backends", "compiler", "driver")
}

# Parts of ours that Triton has not: their names must not look like its own.
_OURS = {"compat", "demo", "reports", "toolchain", "ops", "torch", "__main__"}


class _Triton(ModuleType):
    """The module ``triton``: names come from tegula when first asked for."""

    def __getattr__(self, name: str) -> Any:
        if name in _OURS or name.startswith("__"):
            raise AttributeError(f"module 'triton' has no attribute {name!r}")
        if (
            name == "_C"
        ):  # of Triton's, not ours, and an attribute without being imported
            return importlib.import_module("triton._C")
        try:
            return getattr(tegula, name)
        except AttributeError:
            raise AttributeError(
                f"module 'triton' has no attribute {name!r} (it is tegula "
                f"{tegula.__version__} in its place)"
            ) from None

    def __dir__(self) -> Iterable[str]:
        return sorted({*vars(self), *dir(tegula)} - _OURS)


def _target(name: str) -> str | None:
    """The module that a name under triton stands for, if there is one."""
    if name in ALIASES:
        return ALIASES[name]
    ours = "tegula" + name.removeprefix("triton")
    if ours.split(".")[1] in _OURS:
        return None
    try:
        return ours if importlib.util.find_spec(ours) else None
    except ModuleNotFoundError:
        return None


def _is_package(name: str, real: importlib.machinery.ModuleSpec | None) -> bool:
    """Are there modules below it? What is none can be run by ``python -m``."""
    is_one = real is not None and real.submodule_search_locations is not None
    return is_one or any(n.startswith(f"{name}.") for n in ALIASES)


class _Loader(Loader):
    """Puts the module that a name stands for into sys.modules under that name."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def get_code(self, fullname: str) -> Any:
        """For ``python -m triton.tools.gsan``."""
        spec = importlib.util.find_spec(_target(fullname) or fullname)
        return spec.loader.get_code(spec.name) if spec else None  # type: ignore

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        if spec.name == "triton":
            return
        real = importlib.import_module(spec.loader_state)
        # importlib takes what stands in sys.modules after this, whatever it made itself;
        # who runs the steps of an import by hand keeps the empty one, which asks ours.
        vars(module)["__getattr__"] = functools.partial(getattr, real)
        sys.modules[spec.name] = real


class _Finder(MetaPathFinder):
    """Finds triton and what is under it, and its distribution."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith("triton."):
            return None
        ours = _target(fullname)
        if ours is None:
            # Who imports it is told why; who only asks, by importlib.util.find_spec, is
            # told that it is not there. Importing goes through this function of importlib.
            if sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
                return None
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: triton is tegula {tegula.__version__} "
                "here, which has no such part",
                name=fullname,
            )
        real = importlib.util.find_spec(ours)
        spec = importlib.machinery.ModuleSpec(
            fullname,
            _LOADER,
            origin=real.origin if real else None,
            loader_state=ours,
            is_package=_is_package(fullname, real),
        )
        spec.has_location = spec.origin is not None
        return spec

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        name = getattr(context, "name", None)
        if name is not None and name.lower() != "triton":
            return ()
        from .distribution import StandIn

        return (StandIn(),)


class _Moved(MetaPathFinder):
    """Finds what of _MOVED nobody else has."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        real = (
            importlib.util.find_spec(_MOVED[fullname]) if fullname in _MOVED else None
        )
        if real is None:
            return None
        return importlib.machinery.ModuleSpec(
            fullname,
            _LOADER,
            origin=real.origin,
            loader_state=real.name,
            is_package=True,
        )


_LOADER = _Loader()
_FINDER = _Finder()
sys.meta_path.append(_Moved())


_THREADS = "TORCHINDUCTOR_COMPILE_THREADS"


def _compile_here() -> None:
    """torch.compile has Triton run in processes of its own, and sends what it makes back as
    files and pickles. Here the compiler is in the program: it takes milliseconds, without
    the GIL.
    """
    os.environ[_THREADS] = "1"
    config = sys.modules.get("torch._inductor.config")
    if config:
        config.compile_threads = 1  # type: ignore[attr-defined]


# Here import triton finds a module that calls install().
_CHILDREN = os.path.join(os.path.dirname(__file__), "children")


def _tell_children(is_on: bool) -> None:
    """Processes that this one starts, with its environment, know of install()."""
    given = os.environ.get("PYTHONPATH")
    paths = [] if given is None else given.split(os.pathsep)
    paths = [_CHILDREN] * is_on + [p for p in paths if p != _CHILDREN]
    os.environ.pop("PYTHONPATH", None)
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    # What multiprocessing spawns gets this list in the place of its own.
    sys.path[:] = [p for p in sys.path if p != _CHILDREN]
    sys.path[1:1] = [_CHILDREN] * is_on


def is_installed() -> bool:
    """Does ``import triton`` mean tegula now?"""
    return isinstance(sys.modules.get("triton"), _Triton)


def install() -> ModuleType:
    """Make ``import triton`` mean tegula from now on, in this process and in those it
    starts, by the variable PYTHONPATH, which ``python -I`` ignores.

    torch.compile then compiles kernels in this process, too, as if
    ``TORCHINDUCTOR_COMPILE_THREADS=1`` had been set.

    Raises ImportError if another triton is imported already: half a program cannot change
    its compiler. Calling it again changes nothing.
    """
    if is_installed():
        return sys.modules["triton"]
    other = [m for m in sys.modules if m == "triton" or m.startswith("triton.")]
    if other:
        where = getattr(sys.modules[other[0]], "__file__", None) or "of unknown origin"
        raise ImportError(
            f"triton is imported already ({where}): call tegula.compat.install() first"
        )
    module = _Triton("triton", "Tegula, under the names of Triton.")
    module.__spec__ = importlib.machinery.ModuleSpec(
        "triton", _LOADER, origin=tegula.__file__, is_package=True
    )
    module.__loader__ = _LOADER
    module.__file__ = tegula.__file__
    module.__path__ = []
    module.__version__ = TRITON_VERSION  # type: ignore[attr-defined]
    module.__tegula_version__ = tegula.__version__  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _FINDER)
    sys.modules["triton"] = module
    _compile_here()
    _tell_children(True)
    return module


def uninstall() -> None:
    """Undo ``install()``. What was imported through it stays with its importers."""
    if not is_installed():
        return
    sys.meta_path.remove(_FINDER)
    for name in [m for m in sys.modules if m == "triton" or m.startswith("triton.")]:
        del sys.modules[name]
    _tell_children(False)
