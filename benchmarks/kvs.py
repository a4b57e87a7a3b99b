"""Windows over a store: what they must not exceed.

    python -m benchmarks.kvs                           about a minute
    python -m benchmarks.kvs --stores lmdb

All run compiled, in batches, but bulk evictions, each of which is a call.
`python -m benchmarks.papers amta` has the experiments of the MTA paper.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import best_of, report
from benchmarks.papers.stored import STORES, measured, pages_of, window
from sash import monoids as m


def targets(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Each with what it must not exceed."""
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


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--stores", nargs="+", default=list(STORES), choices=STORES)
    parser.add_argument("--large", type=int, default=100_000_000, help="the large window's size")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    report("kvs_targets", targets(options), options.out)


if __name__ == "__main__":
    main()
