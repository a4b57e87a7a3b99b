"""Measuring: interleaved repetitions, the best of each, and the C++ loop to compare with."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import suites

REFERENCE = Path(__file__).with_name("reference.cpp")


def best_of(candidates: dict[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    """The least seconds of each candidate, taken in turns so that noise is shared."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(repeat):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


@cache
def reference_binary() -> Path | None:
    """The C++ loop, compiled; None where there is no compiler."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return None
    binary = Path(tempfile.mkdtemp(prefix="sash-reference-")) / "reference"
    flags = ["-O3", "-march=native", "-std=c++17"]
    subprocess.run([compiler, *flags, str(REFERENCE), "-o", str(binary)], check=True)
    return binary


def reference_rate(algorithm: str, aggregation: str, size: int, items: int) -> float | None:
    """Million items a second of the C++ loop, the best of its own three runs."""
    binary = reference_binary()
    if binary is None:
        return None
    command = [str(binary), algorithm, aggregation, str(size), str(items)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(out.split()[0])


def machine() -> dict[str, Any]:
    """What a figure depends on, to stand beside it."""
    model = "unknown"
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((x.partition(":")[2].strip() for x in lines if "model name" in x), model)
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def version() -> str:
    """The commit that runs; "changed" where sources differ from it."""
    here = Path(__file__).parent.parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    commit = git("rev-parse", "--short", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", "src", ":(glob)benchmarks/*.py")
    return commit and commit + ", changed" * bool(changed)


def write(name: str, rows: list[dict[str, Any]], directory: str | Path, **about: Any) -> Path:
    """The rows as JSON, with the machine, the date, the version, the command, and what else is
    to be said."""
    path = Path(directory) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    made_by = {"command": command(), "version": version(), "machine": machine()}
    path.write_text(json.dumps({**made_by, **about, "rows": rows}, indent=1) + "\n")
    return path


def command() -> str:
    """The command that runs, without the places it writes to: what gives its figures."""
    module = getattr(sys.modules["__main__"].__spec__, "name", "benchmarks")
    given = sys.argv[1:]
    for option in {"--out", "--docs"} & {*given}:
        place = given.index(option)
        del given[place : place + 2]
    return " ".join(["python -m", module.removesuffix(".__main__"), *given])


def report(name: str, found: Iterable[dict[str, Any]], directory: str | Path) -> Report:
    """Rows as they are measured; then all of them as text, and recorded.

    The record of a command of `sash bench` has the name that the list of them gives it; records
    of other arguments have the arguments in their name, so that none replaces another.
    """
    rows, begun = [], time.monotonic()
    for row in found:
        rows.append(row)
        print(f"done: {row}", file=sys.stderr, flush=True)
    about = {"full": suites.is_full(command()), "seconds": round(time.monotonic() - begun, 1)}
    path = write(file_of(name, command()), rows, directory, **about)
    print(f"{table(rows)}\nwritten to {path}", flush=True)
    return Report(rows, path)


def file_of(name: str, ran: str) -> str:
    """The name of a record.

    >>> file_of("tables_compare_random", "python -m benchmarks.tables --rows 1000 --keys 10")
    'tables_compare_random--rows-1000-keys-10'
    """
    run = suites.of_command(ran)
    if run is not None and run.record.startswith(name):
        return run.record if suites.is_full(ran) else f"{run.record}--quick"
    arguments = re.sub(r"[^a-zA-Z0-9.]+", "-", " ".join(ran.split()[3:])).strip("-")
    return f"{name}--{arguments or 'default'}"[:150]


class Report(NamedTuple):
    """What was measured, and where it was written to."""

    rows: list[dict[str, Any]]
    path: Path


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as text, a column a key."""
    names = list(dict.fromkeys(k for row in rows for k in row))
    cells = [names, *[[_text(row.get(name)) for name in names] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(names))]
    return "\n".join("  ".join(c.rjust(w) for c, w in zip(row, widths)) for row in cells)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return "" if value is None else str(value)


def plot(rows: list[dict[str, Any]], x: str, y: str, by: str, path: Path) -> Path | None:
    """A line for each value of `by`, both axes logarithmic, as SVG; None without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for value in dict.fromkeys(row[by] for row in rows):
        line = [(row[x], row[y]) for row in rows if row[by] == value and row.get(y)]
        axes.plot(*zip(*line, strict=True), marker="o", label=str(value)) if line else None
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    axes.legend(fontsize="small")
    figure.savefig(path, bbox_inches="tight")
    pyplot.close(figure)
    return path
