"""What knobs are made of: descriptors that look at the environment whenever they are read.

    class mine(base_knobs):
        verbose = env_bool("MY_VERBOSE")

``mine().verbose`` is what was assigned to it, else what the variable says now, else the
default. Assigning exports the value to the environment, for the processes that this one
starts, unless ``tegula.knobs.propagate_env`` is false; assigning ``env``, or ``del``, gives
the knob back to the environment. The names of the classes are Triton's.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

G = TypeVar("G", bound="base_knobs")

_TRUE = ("1", "true", "y", "yes", "on")
_FALSE = ("0", "false", "n", "no", "off", "")


class _Env:
    """Assigned to a knob, it gives it back to the environment."""


env = _Env()


def setenv(variable: str, text: str | None) -> None:
    """Set an environment variable, or remove it: None."""
    if text is None:
        os.environ.pop(variable, None)
    else:
        os.environ[variable] = text


class env_base:
    """A knob. key: its variable; ours: a variable that wins over it; core: the name that C
    knows it by; default: a value, or a function of the group that gives one."""

    name = ""

    def __init__(
        self,
        key: str,
        default: Any = None,
        *,
        ours: str | None = None,
        core: str | None = None,
    ) -> None:
        self.key = key
        self.default = default
        self.ours = ours
        self.core = core

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def parse(self, text: str, variable: str) -> Any:
        return text

    def text(self, value: Any) -> str | None:
        """The value as the variable has it; None removes the variable."""
        return None if value is None else str(value)

    def shown(self, value: Any) -> Any:
        """The value as a reader of the knob gets it."""
        return value

    def raw(self, obj: Any) -> Any:
        """The value as it was given."""
        if self.name in obj.__dict__:
            return obj.__dict__[self.name]
        for variable in (self.ours, self.key):
            found = os.environ.get(variable) if variable else None
            if variable and found is not None:
                return self.parse(found, variable)
        return self.default(obj) if callable(self.default) else self.default

    def is_in_environment(self) -> bool:
        return any(v and v in os.environ for v in (self.ours, self.key))

    def __get__(self, obj: Any, cls: type | None = None) -> Any:
        return self if obj is None else self.shown(self.raw(obj))

    def __set__(self, obj: Any, value: Any) -> None:
        if value is env:
            return self.__delete__(obj)
        obj._change(self, value)  # first: it may refuse the value
        obj.__dict__[self.name] = value
        if self.key and sys.modules["tegula.knobs"].propagate_env:
            text = self.text(value)
            setenv(self.key, text)
            if self.ours and self.ours in os.environ:
                setenv(self.ours, text)
        return None

    def __delete__(self, obj: Any) -> None:
        obj.__dict__.pop(self.name, None)
        obj._change(self, self.raw(obj))


class env_str(env_base):
    """A text."""


class env_opt_str(env_base):
    """A text, or None."""


class env_path(env_opt_str):
    """A path, or None; "~" begins at the user's home, as a shell has it."""

    def parse(self, text: str, variable: str) -> Any:
        return os.path.expanduser(text)

    def __set__(self, obj: Any, value: Any) -> None:
        if isinstance(value, (str, bytes, os.PathLike)):
            value = self.parse(os.fsdecode(value), "")
        super().__set__(obj, value)


class env_str_callable_default(env_base):
    """A text whose default is computed."""


class env_bool(env_base):
    """1 or 0, also in words."""

    def __init__(self, key: str, default: Any = False, **kwargs: Any) -> None:
        super().__init__(key, default, **kwargs)

    def parse(self, text: str, variable: str) -> Any:
        lower = text.strip().lower()
        if lower in _TRUE:
            return True
        if lower in _FALSE:
            return False
        raise ValueError(f"{variable}={text}: expected 1 or 0")

    def __set__(self, obj: Any, value: Any) -> None:
        is_text = isinstance(value, str)  # "0" is no, as in the environment
        super().__set__(obj, self.parse(value, self.name) if is_text else value)

    def text(self, value: Any) -> str | None:
        return None if value is None else "1" if value else "0"


class env_opt_bool(env_bool):
    """1, 0, or None."""

    def __init__(self, key: str, default: Any = None, **kwargs: Any) -> None:
        super().__init__(key, default, **kwargs)


class env_int(env_base):
    """An integer."""

    def __init__(self, key: str, default: Any = 0, **kwargs: Any) -> None:
        super().__init__(key, default, **kwargs)

    def parse(self, text: str, variable: str) -> Any:
        try:
            return int(text, 0) if text.strip() else self.default
        except ValueError:
            raise ValueError(f"{variable}={text}: expected an integer") from None


class env_class(env_base):
    """A class, in the variable as module:name; or None."""

    def __init__(self, key: str, type: str = "", **kwargs: Any) -> None:
        super().__init__(key, **kwargs)
        self.type = type  # what it derives from, for readers

    def parse(self, text: str, variable: str) -> Any:
        module, colon, name = text.partition(":")
        if not colon:
            raise ValueError(f"{variable}={text}: expected module:class")
        return getattr(importlib.import_module(module), name)

    def text(self, value: Any) -> str | None:
        return value and f"{value.__module__}:{value.__qualname__}"


class env_strset(env_base):
    """What several variables say, as a set."""

    def __init__(self, *keys: str) -> None:
        super().__init__("")
        self.keys = keys

    def raw(self, obj: Any) -> Any:
        if self.name in obj.__dict__:
            return obj.__dict__[self.name]
        return {os.environ[k] for k in self.keys if k in os.environ}


class env_nvidia_tool(env_base):
    """A program of CUDA's: a path that knows its version."""

    def shown(self, value: Any) -> Any:
        from tegula.compat.knobs import find_tool

        return find_tool(self.name, value)


class HookChain:
    """Functions that are called one after the other; ``add`` and ``remove`` them.

    What ends something is called in the reverse order of what begins it.
    """

    def __init__(
        self, reversed: bool = False, calls: Iterable[Callable[..., Any]] = ()
    ) -> None:
        self.calls = list(calls)
        self._reversed = reversed

    def add(self, func: Callable[..., Any]) -> None:
        if func not in self.calls:
            self.calls.append(func)
        sys.modules["tegula.knobs"]._connect()

    def remove(self, func: Callable[..., Any]) -> None:
        if func in self.calls:
            self.calls.remove(func)
        sys.modules["tegula.knobs"]._connect()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        calls = list(self.calls)
        for call in calls[::-1] if self._reversed else calls:
            call(*args, **kwargs)

    def __bool__(self) -> bool:
        return bool(self.calls)


class base_knobs:
    """A group of knobs: its class has them as attributes."""

    def _change(self, knob: env_base, value: Any) -> None:
        """A knob is about to get this value."""

    @property
    def knob_descriptors(self) -> dict[str, env_base]:
        """The knobs of the group, by name."""
        found: dict[str, env_base] = {}
        for cls in reversed(type(self).__mro__):
            found |= {k: v for k, v in vars(cls).items() if isinstance(v, env_base)}
        return found

    @property
    def knobs(self) -> dict[str, Any]:
        """Their values, by name."""
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def copy(self: G) -> G:
        """A group of its own with the same values."""
        new = type(self)()
        new.__dict__.update(self.__dict__)
        return new

    def reset(self: G) -> G:
        """The same, with all of its knobs given back to the environment."""
        for name in self.knob_descriptors:
            delattr(self, name)
        return self

    @contextmanager
    def scope(self: G) -> Iterator[G]:
        """Put every knob of the group, and its variable, back at the end of the block."""
        knobs = self.knob_descriptors
        variables = [v for k in knobs.values() for v in (k.key, k.ours) if v]
        before = {v: os.environ.get(v) for v in variables}
        values = dict(self.__dict__)
        try:
            yield self
        finally:
            for variable, text in before.items():
                setenv(variable, text)
            self.__dict__.clear()
            self.__dict__.update(values)
            for knob in knobs.values():
                self._change(knob, knob.raw(self))
