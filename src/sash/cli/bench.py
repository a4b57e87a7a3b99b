"""`sash bench`: the project's benchmarks, each in a process of its own, and a page of them."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sash.cli.errors import EndError
from sash.cli.progress import Stage, stage

SUITES: dict[str, tuple[str, str]] = {
    "swag": (
        "swag",
        "swag --algorithms TwoStacksLite DABALite --monoids sum --sizes 4 8 --items 20000 "
        "--repeat 1",
    ),
    "latency": (
        "swag --experiment latency --monoids sum --sizes 10 14 20 "
        "--algorithms TwoStacksLite DABALite DABA FlatFIT Reactive",
        "swag --experiment latency --algorithms DABALite --monoids sum --sizes 4 --items 20000",
    ),
    "fiba": ("fiba", "fiba --size 4096 --repeat 1"),
    "sharing": ("sharing", "sharing --rows 20000 --repeat 1 --cases together max"),
    "ranges": ("sharing --ranges 2 4 8 32", "sharing --ranges 2 --rows 20000 --repeat 1"),
    "tables": ("tables", "tables --rows 20000 --windows 100 --quick --repeat 1"),
    "spark": (
        "spark_batch --experiment one many",
        "spark_batch --experiment one --rows 20000 --slow-rows 5000 --window 100 --repeat 1",
    ),
    "streaming": (
        "streaming",
        "streaming --experiment rows --keys 100 --scale 0.002",
    ),
    "asof": ("asof", "asof --events 20000 --keys 100 --repeat 1"),
    "serving": ("serving", "serving --stores memory lmdb --keys 500 --gets 200"),
    "papers": ("papers", "papers --size tiny"),
}
"""By name: the module of benchmarks/ with its arguments, at full size and small."""


def main(out: Path, names: list[str], options: argparse.Namespace) -> int:
    """Run the benchmarks named, then make the pages of all results that are there."""
    from sash.cli.bench_report import page, rst

    if options.quick and out == Path("benchmarks/results"):
        out = out / "quick"  # figures of small sizes are none
    if not options.pages:
        run_all(clone(), out, names, options.quick)
    found = results(out)
    written = write_json(found, out / "bench.json")
    report = page(found).write(out / "bench.html")
    print(f"results: {written}\nreport: {report}")
    if options.docs is not None:
        options.docs.write_text(rst(found))
        print(f"documentation: {options.docs}")
    return 0


def clone() -> Path:
    """The folder that holds benchmarks/: this one, or the one Sash is installed from."""
    for folder in (Path.cwd(), Path(__file__).resolve().parents[3]):
        if (folder / "benchmarks" / "measure.py").exists():
            return folder
    raise EndError("bench: there is no benchmarks/ here: run it in a clone of Sash")


def run_all(root: Path, out: Path, names: Iterable[str], quick: bool) -> None:
    names = list(names)
    with stage("benchmarks", total=len(names)) as running:
        for number, name in enumerate(names):
            running.done, running.note = number, name
            run_one(root, out.resolve(), SUITES[name][quick], running)
        running.done, running.note = len(names), f"{len(names)} done"


def run_one(root: Path, out: Path, command: str, running: Stage) -> None:
    """One benchmark; what it says last is shown, and said if it fails."""
    module, *arguments = command.split()
    program = [sys.executable, "-m", f"benchmarks.{module}", *arguments, "--out", str(out)]
    name, last = running.note, "it said nothing"
    pipe, join = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(program, cwd=root, stdout=pipe, stderr=join, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip():
                last = line.strip()
                running.note = f"{name}: {last}"
    if process.returncode:
        raise EndError(f"bench: benchmarks.{module} ended with status {process.returncode}: {last}")


def results(out: Path) -> dict[str, dict[str, Any]]:
    """The results of the benchmarks, by the name of the file."""
    found = {}
    for file in sorted(out.glob("*.json")):
        if file.name != "bench.json":
            found[file.stem] = json.loads(file.read_text())
    if not found:
        raise EndError(f"bench: {out} holds no results: run without --pages")
    return found


def write_json(found: dict[str, Any], place: Path) -> Path:
    """All results in one file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(found, indent=1) + "\n")
    return place
