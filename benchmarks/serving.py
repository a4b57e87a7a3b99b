"""Values to serve: what a get costs, and how long a batch of many keys takes to write.

    python -m benchmarks.serving                       all stores, about a minute
    python -m benchmarks.serving --stores redis --keys 100000 --gets 20000

Three windows of one stream (count, sum, max), one value per key. `get`: microseconds of a
`Reader.get` from a server on this machine; `own`: the processor's time of it in this process, the
client of the store included, and no waiting for the server. `written`: keys per second of a batch
in which all keys change; its seconds beside it. The target: p99 of Sash's own time below 1 ms.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.measure import report
from benchmarks.papers.stored import redis_server
from sash import functions as sf
from sash import serve, stores

STORES = ("memory", "lmdb", "redis")
HOUR = sash.range_between(-3600, 0)


def batches(keys: int) -> Iterator[pa.Table]:
    """Values of all keys, again and again."""
    live = sash.stream("user", time="t", emit="update").agg(
        n=sf.count().over(HOUR), total=sf.sum("x").over(HOUR), hi=sf.max("x").over(HOUR)
    )
    rng, number = np.random.default_rng(1), 0
    while True:
        number += 1
        rows = {"user": np.arange(keys), "t": np.full(keys, number), "x": rng.random(keys) + number}
        yield live.feed(pa.table(rows))


def timed(work: Any, keys: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Microseconds of each call, and of the processor's time in it."""
    found = np.empty((len(keys), 2))
    for i, key in enumerate(keys):
        begun = time.perf_counter_ns(), time.thread_time_ns()
        work(key)
        found[i] = time.perf_counter_ns() - begun[0], time.thread_time_ns() - begun[1]
    return found[:, 0] / 1000, found[:, 1] / 1000


def measured(kind: str, store: stores.Store, keys: int, gets: int) -> Iterator[dict[str, Any]]:
    values, sink, reader = batches(keys), serve.Sink(store), serve.Reader(store)
    written = []
    for number in range(3):
        batch = next(values)
        begun = time.perf_counter()
        sink(batch, number)
        written.append(time.perf_counter() - begun)
        assert reader.get(user=keys - 1)["n"] == number + 1
    asked = np.random.default_rng(2).integers(0, keys, gets).tolist()
    whole, own = timed(lambda key: reader.get(user=key), asked)
    many = asked[:1000]
    begun = time.perf_counter()
    reader.get_many(many)
    each = (time.perf_counter() - begun) / len(many) * 1e6
    yield {
        "store": kind, "keys": keys,
        "get p50 us": _share(whole, 50), "get p99 us": _share(whole, 99),
        "own p50 us": _share(own, 50), "own p99 us": _share(own, 99),
        "get_many us per key": each,
        "batch s": min(written[1:]), "written keys/s": keys / min(written[1:]),
    }  # fmt: skip


def _share(values: np.ndarray, share: int) -> float:
    return float(np.percentile(values, share))


def rows(kinds: list[str], keys: int, gets: int) -> Iterator[dict[str, Any]]:
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            if kind == "redis":
                with redis_server(folder) as url, stores.open(url) as store:
                    yield from measured(kind, store, keys, gets)
                continue
            spec = "memory:" if kind == "memory" else f"lmdb:{folder}/served"
            with stores.open(spec) as store:
                yield from measured(kind, store, keys, gets)


def main() -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--stores", nargs="+", choices=STORES, default=list(STORES))
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--gets", type=int, default=10_000)
    parser.add_argument("--out", default="benchmarks/results")
    given = parser.parse_args()
    report("serving", rows(given.stores, given.keys, given.gets), given.out)


if __name__ == "__main__":
    main()
