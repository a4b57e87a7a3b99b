"""Sharing: many aggregations over several windows in one call, beside another version of Sash.

    python -m benchmarks.sharing                       this version, 10 million rows
    python -m benchmarks.sharing --baseline PATH       and the clone at PATH, taken in turns
    python -m benchmarks.sharing --ranges 2 4 8 32     several ranges: a window each, or FlatFIT
    python -m benchmarks.sharing --slides 10 100 1000  `every`: pairs, and panes of the same slides

`together` is 4 windows x (count, sum, mean, min, max, standard deviation) in one call; the
others are one aggregation over one window. Each version runs in a process of its own, which is
asked in turns, so that noise is shared. Figures are seconds, the best of several runs; `x
baseline` is this version's time as a share of the other's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.measure import best_of, report
from sash import monoids as m
from sash import swag

NAMES = ("count", "sum", "mean", "min", "max", "stddev")
WINDOWS = ("100 us", "1000 us", "10000 us", "100000 us")
SINGLE = "1000 us"


def rows(n: int, keys: int) -> pa.Table:
    """Sorted by key and time, a row per microsecond and key on average."""
    rng = np.random.default_rng(1)
    key = np.sort(rng.integers(0, keys, n))
    ticks = rng.integers(0, n // keys, n)
    order = np.lexsort((ticks, key))
    moments = ticks[order].astype("datetime64[us]")
    return pa.table({"k": key, "t": moments, "x": rng.random(n)})


def asked(case: str) -> dict[str, Any]:
    """The aggregations of a case."""
    from sash import functions as sf

    if case != "together":
        return {"y": getattr(sf, case)("x").over(SINGLE)}
    return {
        f"{name}_{i}": getattr(sf, name)("x").over(window)
        for name in NAMES
        for i, window in enumerate(WINDOWS)
    }


def serve(options: argparse.Namespace) -> None:
    """Answer each line, a case, with the seconds it took."""
    import sash

    data = rows(options.rows, options.keys)
    for line in sys.stdin:
        case = line.strip()
        start = time.perf_counter()
        sash.windowed(data, "k", time="t").agg(**asked(case))
        print(time.perf_counter() - start, flush=True)


class Version:
    """A version of Sash in a process of its own."""

    def __init__(self, sources: Path | None, options: argparse.Namespace) -> None:
        here = Path(__file__).parent.parent
        paths = [here] if sources is None else [sources / "src", here]
        path = os.pathsep.join([*map(str, paths), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "benchmarks.sharing", "--serve"]
        command += ["--rows", str(options.rows), "--keys", str(options.keys)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip

    def seconds(self, case: str) -> float:
        """How long a case takes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(case, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def stop(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Each case in each version."""
    versions = {"this": Version(None, options)}
    if options.baseline is not None:
        versions["baseline"] = Version(options.baseline.resolve(), options)
    for case in options.cases:
        best = {name: version.seconds(case) for name, version in versions.items()}  # compiles
        best = dict.fromkeys(best, float("inf"))
        for _ in range(options.repeat):
            for name, version in versions.items():
                best[name] = min(best[name], version.seconds(case))
        row: dict[str, Any] = {"case": case, **best}
        if "baseline" in best:
            row["x baseline"] = best["this"] / best["baseline"]
        yield row
    for version in versions.values():
        version.stop()


def ranges(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Nanoseconds per answer over several ranges: each its own Two-Stacks Lite, or one FlatFIT."""
    n, block = min(options.rows, 1_000_000), 1 << 17
    xs, ends = np.random.default_rng(0).random(n), np.arange(1, n + 1)

    def a_window_each(monoid: Any, sizes: list[int]) -> None:
        for size in sizes:
            window, begins = swag.TwoStacksLite(monoid), np.maximum(ends - size, 0)
            for row in range(0, n, block):
                some, first = slice(row, row + block), int(begins[row])
                window.follow(xs[first : row + block], first, begins[some], ends[some], size)

    def flat_fit(monoid: Any, sizes: list[int]) -> None:
        swag.FlatFIT(monoid, max(sizes)).slide_many(xs, sizes)

    for count in options.ranges:
        sizes = sorted(np.linspace(100, 1000, count).astype(int).tolist(), reverse=True)
        for monoid in (m.Max(), m.StdDev()):
            ways = {"a window each": a_window_each, "FlatFIT": flat_fit}
            runs = {name: partial(way, monoid, sizes) for name, way in ways.items()}
            best = best_of(runs, 1 + options.repeat)
            each = {name: seconds * 1e9 / n / count for name, seconds in best.items()}
            yield {"ranges": count, "monoid": monoid.name, **each}


def slides(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Nanoseconds per row of `every`, for windows of one and of four sizes, with a maximum each.

    With pairs, sizes are no multiples of the slide, and there are two cuts per slide and size;
    with panes they are, and there is one per slide. Slicing that cuts only where windows begin
    has as many slices as panes, and needs an extra combine per answer.
    """
    import sash
    from sash import functions as sf

    data = rows(options.rows, options.keys)

    def run(sizes: list[int], slide: int) -> None:
        frames = [sash.sliding(f"{size} us", f"{slide} us") for size in sizes]
        asked = {f"y_{i}": sf.max("x").over(frame) for i, frame in enumerate(frames)}
        sash.windowed(data, "k", time="t").every().agg(**asked)

    for slide in options.slides:
        for factors in ((3,), (1, 3, 7, 15)):
            panes = [factor * slide for factor in factors]
            pairs = [size + slide // 2 - factor for size, factor in zip(panes, factors)]
            runs = {"pairs": partial(run, pairs, slide), "panes": partial(run, panes, slide)}
            best = best_of(runs, 1 + options.repeat)
            each = {name: seconds * 1e9 / options.rows for name, seconds in best.items()}
            yield {"rows per key and slide": slide, "sizes": len(factors), **each}


def main() -> None:
    """Print the figures as a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cases", nargs="+", default=["together", *NAMES])
    parser.add_argument("--baseline", type=Path, help="a clone of another version")
    parser.add_argument("--ranges", nargs="+", type=int, help="measure this many ranges instead")
    parser.add_argument("--slides", nargs="+", type=int, help="measure `every` by these instead")
    parser.add_argument("--out", default="benchmarks/results")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.baseline is not None and not (options.baseline / "src" / "sash").is_dir():
        parser.error(f"{options.baseline} is no clone of Sash: it has no src/sash")
    if options.serve:
        serve(options)
    elif options.ranges:
        report("ranges", ranges(options), options.out)
    elif options.slides:
        report("slides", slides(options), options.out)
    else:
        report("sharing", compare(options), options.out)


if __name__ == "__main__":
    main()
