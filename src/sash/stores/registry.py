"""A store by its spec: the kind, a colon, where it is."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sash.stores.contract import Store


def _memory(spec: str, **options: Any) -> Store:
    from sash.stores.memory import Memory

    if spec != "memory:":
        raise ValueError(f"{spec!r}: a memory store is nowhere else; its spec is 'memory:'")
    return Memory(**options)


def _lmdb(spec: str, **options: Any) -> Store:
    _need("lmdb", spec)
    from sash.stores.lmdb import LMDB

    return LMDB(spec.removeprefix("lmdb:"), **options)


def _redis(spec: str, **options: Any) -> Store:
    _need("redis", spec)
    from sash.stores.redis import Redis

    return Redis(spec, **options)


KINDS = {"memory": _memory, "lmdb": _lmdb, "redis": _redis, "rediss": _redis}


def open(spec: str, **options: Any) -> Store:
    """The store that `spec` names, made if it is not there: `"memory:"`, `"lmdb:path"`,
    `"redis://127.0.0.1:6379/0"` (`"rediss://…"` with TLS).

    `options` are those of the store's class.

    >>> with open("memory:") as store:
    ...     store.put_many([(b"k", b"v")])
    ...     store.get_many([b"k"])
    [b'v']
    """
    kind, colon, _ = spec.partition(":")
    if not colon or kind not in KINDS:
        raise ValueError(
            f"{spec!r} names no store: the kinds are {', '.join(KINDS)}, as in 'memory:', "
            "'lmdb:windows', 'redis://127.0.0.1:6379/0'"
        )
    return KINDS[kind](spec, **options)


def _need(package: str, spec: str) -> None:
    try:
        import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{spec.partition(':')[0]} stores need the package {package}, which does not "
            f"import here ({error}): pip install 'sash[stores]'"
        ) from error
