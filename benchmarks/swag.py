"""In-order algorithms: throughput and latency over window sizes, against the C++ loop.

    python -m benchmarks.swag                              a few minutes: what the README says
    python -m benchmarks.swag --algorithms DABALite FlatFIT --monoids sum max --sizes 10 14 20
    python -m benchmarks.swag --experiment latency         p50 … max of every single step

Sizes are powers of two. Rates are million items a second, the best of several runs taken
in turns; `ratio` is to the C++ loop of benchmarks/reference.cpp in the same run. Compile
time is measured apart, with an empty kernel cache. `python -m benchmarks.papers daba` has the
experiments of the DABA paper, also with windows that grow and shrink; `amta` slides by bulks.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import best_of, plot, reference_rate, report
from benchmarks.papers import loops
from benchmarks.papers.workloads import kind, rows
from sash import monoids as m
from sash.swag.registry import IN_ORDER

MONOIDS = {
    "max": m.Max, "sum": m.Sum, "mean": m.Mean, "geomean": m.GeoMean, "stddev": m.StdDev,
    "argmax": m.ArgMax, "bloom": lambda: m.Bloom(1024, 3),
}  # fmt: skip
REFERENCES = {"TwoStacksLite": "two_stacks_lite", "DABALite": "daba_lite"}
ALGORITHMS = {cls.__name__: cls for cls in IN_ORDER}


def inputs(monoid: str, items: int) -> Any:
    """Random items, the same in every run."""
    values = np.random.default_rng(1).random(items) + 0.5
    if monoid == "argmax":
        return values, np.arange(items)
    return (values * 1e6).astype(np.int64) if monoid == "bloom" else values


def cases(options: argparse.Namespace) -> Iterator[tuple[str, str, int]]:
    """Algorithm, monoid, size: those that make sense and do not take for ever."""
    for size in options.sizes:
        for monoid in options.monoids:
            for algorithm in options.algorithms:
                typed = MONOIDS[monoid]().of(kind(inputs(monoid, 1)))
                invertible = algorithm != "SubtractOnEvict" or typed.inverse is not None
                if invertible and (algorithm != "Recalc" or size <= 1 << 10):
                    yield algorithm, monoid, size


def static(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A window of constant size: rounds of evict, insert and query."""
    for algorithm, monoid, size in cases(options):
        xs = items_for(algorithm, monoid, size, options.items)
        n = rows(xs)
        typed = MONOIDS[monoid]().of(kind(xs))
        run = partial(slide_once, algorithm, typed, xs, size, output(algorithm, typed, xs))
        own = REFERENCES.get(algorithm) if monoid in ("max", "sum", "stddev") else None
        common = itself = rate = 0.0
        for _ in range(options.repeat):  # in turns, so that noise is shared
            common = max(common, reference_rate("two_stacks_lite", "sum", size, options.items) or 0)
            itself = max(itself, (own and reference_rate(own, monoid, size, options.items)) or 0)
            rate = max(rate, n / best_of({"run": run}, 2)["run"] / 1e6)
        row = {"algorithm": algorithm, "monoid": monoid, "size": size, "rate": rate}
        row["to_cpp_two_stacks_lite_sum"] = rate / common if common else None
        row["to_cpp_itself"] = rate / itself if itself else None
        yield row


def slide_once(algorithm: str, monoid: Any, xs: Any, size: int, out: Any) -> None:
    ALGORITHMS[algorithm](monoid).slide(xs, size, out=out)


def items_for(algorithm: str, monoid: str, size: int, items: int) -> Any:
    """Fewer items for what is slow by its nature."""
    slow = {"Recalc": max(1, size), "bloom": 20}
    factor = slow.get(algorithm, 1) * slow.get(monoid, 1)
    return inputs(monoid, max(2000, min(items, items * 4 // (4 * factor)), min(2 * size, items)))


def output(algorithm: str, monoid: Any, xs: Any) -> Any:
    """An array for the answers, touched, so that a run does not pay for fresh memory."""
    answers = ALGORITHMS[algorithm](monoid).slide(xs, 8)
    return np.ma.getdata(answers) if isinstance(answers, np.ndarray) and answers.ndim == 1 else None


def latencies(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Nanoseconds of every single evict, insert and query, by the cycle counter."""
    for algorithm, monoid, size in cases(options):
        xs = items_for(algorithm, monoid, size, options.items)
        n = rows(xs)
        window = ALGORITHMS[algorithm](MONOIDS[monoid]().of(kind(xs)), compiled=True)
        spent = loops.latencies(window, xs, loops.last(size, n), skip=min(size, n // 2))
        row: dict[str, Any] = {"algorithm": algorithm, "monoid": monoid, "size": size}
        for p in (50, 99, 99.9, 99.999):
            row[f"p{p}"] = float(np.percentile(spent, p))
        yield {**row, "max": float(spent.max())}


def compile_times(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Seconds until the first answer with an empty cache, and again with a warm one."""
    import subprocess

    program = (
        "import time; start = time.perf_counter()\n"
        "import numpy as np, sash\n"
        "from sash import swag, monoids as m\n"
        "swag.{0}(m.Max()).slide(np.arange(10.0), 3)\n"
        "print(time.perf_counter() - start)\n"
    )
    for algorithm in options.algorithms:
        if algorithm == "SubtractOnEvict":
            continue
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "SASH_CACHE_DIR": cache}
            command = [sys.executable, "-c", program.format(algorithm)]
            seconds = [
                float(
                    subprocess.run(command, env=environment, check=True, capture_output=True).stdout
                )
                for _ in range(3)
            ]
        yield {"algorithm": algorithm, "cold": seconds[0], "warm": min(seconds[1:])}


EXPERIMENTS = {
    "static": static, "latency": latencies, "compile": compile_times,
}  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--experiment", choices=EXPERIMENTS, default="static")
    parser.add_argument("--algorithms", nargs="+", default=list(ALGORITHMS), choices=ALGORITHMS)
    parser.add_argument("--monoids", nargs="+", default=["sum", "max", "stddev"], choices=MONOIDS)
    parser.add_argument("--sizes", nargs="+", type=int, default=[4, 10, 14, 20], help="powers of 2")
    parser.add_argument("--items", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    options.sizes = [1 << size for size in options.sizes]
    found = EXPERIMENTS[options.experiment](options)
    rows, path = report(f"swag_{options.experiment}", found, options.out)
    if options.experiment == "static":
        drawn = plot(
            [r for r in rows if r["monoid"] == rows[0]["monoid"]],
            "size",
            "rate",
            "algorithm",
            Path(path).with_suffix(".svg"),
        )
        print(f"drawn in {drawn}" if drawn else "install sash[report] for a plot")


if __name__ == "__main__":
    main()
