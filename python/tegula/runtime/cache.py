"""Files by key, with the interface of ``triton.runtime.cache``.

Our compiled kernels are kept by C (csrc/runtime/disk.c), not through these classes. They
serve libraries that keep files of their own beside Triton's, under ``knobs.cache.dir``.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import tempfile
from abc import ABC, abstractmethod
from typing import Any

from tegula import knobs


class CacheManager(ABC):
    """Keeps the files of one key."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.key = key

    @abstractmethod
    def get_file(self, filename: str) -> str | None:
        """The path of a file, or None."""

    @abstractmethod
    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        """Write a file; its path."""

    @abstractmethod
    def get_group(self, filename: str) -> dict[str, str] | None:
        """Paths by name, as ``put_group`` was given them, less those that are gone."""

    @abstractmethod
    def put_group(self, filename: str, group: dict[str, str]) -> str:
        """Remember paths under a name."""


class FileCacheManager(CacheManager):
    """Keeps them in a directory of their own."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        if dump:
            self.cache_dir = os.path.join(knobs.cache.dump_dir, key)
        elif override:
            self.cache_dir = os.path.join(knobs.cache.override_dir, key)
        elif knobs.cache.dir:
            self.cache_dir = os.path.join(knobs.cache.dir, "files", key)
        else:
            raise RuntimeError("there is no cache directory: set TEGULA_CACHE_DIR")
        self.lock_path = os.path.join(self.cache_dir, "lock")
        if not override:  # that one is the user's
            os.makedirs(os.path.dirname(self.cache_dir), mode=0o700, exist_ok=True)
            os.makedirs(self.cache_dir, mode=0o700, exist_ok=True)

    def _make_path(self, filename: str) -> str:
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename: str) -> bool:
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename: str) -> str | None:
        return self._make_path(filename) if self.has_file(filename) else None

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        if not isinstance(data, bytes):
            data = str(data).encode()
        path = self._make_path(filename)
        fd, tmp = tempfile.mkstemp(dir=self.cache_dir)
        with os.fdopen(fd, "wb") as f:
            f.write(data)
        os.replace(tmp, path)
        return path

    def get_group(self, filename: str) -> dict[str, str] | None:
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        with open(path) as f:
            paths: dict[str, str] = json.load(f).get("child_paths", {})
        return {name: p for name, p in paths.items() if os.path.exists(p)}

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        text = json.dumps({"child_paths": group})
        return self.put(text, f"__grp__{filename}", binary=False)


class RemoteCacheBackend:
    """Where a ``RemoteCacheManager`` keeps bytes; derive from it."""

    def __init__(self, key: str) -> None:
        self.key = key

    def get(self, filenames: list[str]) -> dict[str, bytes]:
        raise NotImplementedError

    def put(self, filename: str, data: bytes) -> None:
        raise NotImplementedError


class RemoteCacheManager(CacheManager):
    """Files whose bytes a ``RemoteCacheBackend`` keeps, of the class that the knob
    ``cache.remote_manager_class`` names; copies on disk make them paths. What is dumped or
    overridden is on disk alone."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        backend = knobs.cache.remote_manager_class
        if not backend:
            raise RuntimeError(
                "RemoteCacheManager needs the class of a backend: set "
                "TRITON_REMOTE_CACHE_BACKEND to module:Class"
            )
        self._is_local = override or dump
        self._backend: RemoteCacheBackend = backend(key)
        self._files = FileCacheManager(key, override, dump)

    def get_file(self, filename: str) -> str | None:
        if self._is_local:
            return self._files.get_file(filename)
        # Asked each time, so that it knows what is used.
        data = self._backend.get([filename]).get(filename)
        return None if data is None else self._files.put(data, filename)

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        if not self._is_local:
            if not isinstance(data, bytes):
                data = str(data).encode()
            self._backend.put(filename, data)
        return self._files.put(data, filename, binary)

    def get_group(self, filename: str) -> dict[str, str] | None:
        if self._is_local:
            return self._files.get_group(filename)
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        with open(path) as f:
            names = json.load(f).get("child_paths")
        if names is None:
            return None
        there = self._backend.get(list(names))
        return {name: self._files.put(data, name) for name, data in there.items()}

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        if self._is_local:
            return self._files.put_group(filename, group)
        text = json.dumps({"child_paths": sorted(group)})
        return self.put(text, f"__grp__{filename}", binary=False)


class RedisRemoteCacheBackend(RemoteCacheBackend):
    """Keeps them in Redis, where ``knobs.redis`` says. Needs the package redis."""

    def __init__(self, key: str) -> None:
        import redis  # type: ignore[import-untyped,import-not-found,unused-ignore]

        super().__init__(key)
        self._redis = redis.Redis(host=knobs.redis.host, port=knobs.redis.port)

    def _get_key(self, filename: str) -> str:
        text: str = knobs.redis.key_format.format(key=self.key, filename=filename)
        return text

    def get(self, filenames: list[str]) -> dict[str, bytes]:
        found = self._redis.mget([self._get_key(f) for f in filenames])
        pairs = zip(filenames, found, strict=True)
        return {name: data for name, data in pairs if data is not None}

    def put(self, filename: str, data: bytes) -> None:
        self._redis.set(self._get_key(filename), data)


def _base32(digest: str) -> str:
    return base64.b32encode(bytes.fromhex(digest)).decode().rstrip("=")


def _manager(key: str, **kwargs: bool) -> CacheManager:
    cls = knobs.cache.manager_class or FileCacheManager
    manager: CacheManager = cls(_base32(key), **kwargs)
    return manager


def get_cache_manager(key: str) -> CacheManager:
    return _manager(key)


def get_dump_manager(key: str) -> CacheManager:
    return _manager(key, dump=True)


def get_override_manager(key: str) -> CacheManager:
    return _manager(key, override=True)


def default_cache_dir() -> str | None:
    """Of Triton until 3.3, as the two below; later ones have knobs.cache."""
    return knobs.cache.dir


def default_dump_dir() -> str:
    return str(knobs.cache.dump_dir)


def default_override_dir() -> str:
    return str(knobs.cache.override_dir)


def get_cache_key(
    src: Any, backend: Any, backend_options: Any, env_vars: dict[str, str]
) -> str:
    """As ``compiler.get_cache_key``."""
    from tegula.compat import compiler

    return compiler.get_cache_key(src, backend, backend_options, env_vars)


def make_so_cache_key(
    version_hash: str,
    signature: dict[Any, str],
    constants: Any,
    ids: Any,
    **kwargs: Any,
) -> str:
    """A digest for what is built for one signature: every pointer is the same."""
    types = ["ptr" if t.startswith("*") else t for t in signature.values()]
    text = "-".join(map(str, (version_hash, "".join(types), constants, ids)))
    text += "".join(f"-{value}" for value in kwargs.values())
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def triton_key() -> str:
    """What identifies this compiler: kernels of another one do not fit."""
    from tegula import __version__, _core
    from tegula.compat import TRITON_VERSION

    return f"tegula-{__version__}-{_core.build_id()}-triton-{TRITON_VERSION}"
