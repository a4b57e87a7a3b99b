"""FiBA against the C++ loop: in order one at a time, and in bulks, in order and not.

    python -m benchmarks.fiba                  what the README says: the targets
    python -m benchmarks.fiba --size 4096      in a smaller window

Rates are million items a second, the best of several runs taken in turns; every bulk is a call
from Python, and that is part of it. `ratio` is to the C++ loop TwoStacksLite with sum at 2^20,
in the same run. `python -m benchmarks.papers fiba` has the experiments of the FiBA paper, also
a window of 10^9 entries.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.measure import best_of, reference_rate, report
from benchmarks.papers.trees import TreeRounds, in_order

REFERENCE = ("two_stacks_lite", "sum", 1 << 20, 20_000_000)


def targets(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Rates and ratios with sum."""
    n, m = options.size, 1024
    xs = np.random.default_rng(1).random(4 * n)
    out = np.empty(len(xs))
    sliding = in_order("sum", 8, n)
    rounds = {d: TreeRounds("sum", 8, n, m, d) for d in (0, m)}
    runs: dict[str, Callable[[], Any]] = {
        "in order, one at a time": lambda: sliding.slide(xs, n, out=out),
        "bulks of 1,024 in order": lambda: rounds[0].run(1000),
        "bulks of 1,024 at distance 1,024": lambda: rounds[m].run(1000),
    }
    items = dict(zip(runs, (len(xs), 1000 * m, 1000 * m), strict=True))
    for run in runs.values():
        run()
    best, reference = dict.fromkeys(runs, 0.0), 0.0
    for _ in range(options.repeat):
        reference = max(reference, reference_rate(*REFERENCE) or 0.0)
        for name, seconds in best_of(runs, 1).items():
            best[name] = max(best[name], items[name] / seconds / 1e6)
    for name, rate in best.items():
        yield {"what": name, "rate": rate, "ratio": rate / reference if reference else None}
    if n >= 1 << 20:
        yield {"what": "bulk evict of 2^18 to one of 2^8", "ratio": large_to_small()}
    tree = in_order("sum", 8, 4 * n)
    yield {"what": f"bytes per entry, n = {4 * n:,}", "rate": tree.nbytes / len(tree)}


def large_to_small() -> float:
    """What it costs to evict 2^18 entries, in evictions of 2^8: in turns, until none are left."""
    spent = []
    for _ in range(3):
        tree, at = in_order("sum", 8, 1 << 22), 0
        tree.bulk_evict(at)
        while at + (1 << 19) < 1 << 22:
            row = []
            for m in (1 << 8, 1 << 18):
                at += m
                start = time.perf_counter_ns()
                tree.bulk_evict(at)
                row.append(time.perf_counter_ns() - start)
            spent.append(row)
    small, large = np.median(np.array(spent), 0)
    return float(large / small)


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--size", type=int, default=1 << 20, help="entries in the window")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    report("fiba_targets", targets(options), options.out)


if __name__ == "__main__":
    main()
