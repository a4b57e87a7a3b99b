"""The project's benchmarks, each in a process of its own, and the pages of their records.

    sash bench                             all but papers and billion, about an hour on 2 cores
    sash bench tables asof                 some of them
    sash bench --missing                   those that have no record yet
    sash bench --quick                     small sizes, to see that all of them work
    sash bench --pages                     a page of the records that there are; what is missing
    sash bench --pages --docs docs         README's table and the documentation, from the records

A run is recorded in OUT/NAME.json when it ends. Figures come from the records of whole runs:
benchmarks/suites.py has the commands, benchmarks/figures what is computed from them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks import charts, pages, records
from benchmarks.run import Run
from benchmarks.suites import LARGE, RUNS, SUITES
from sash.cli.errors import known
from sash.cli.progress import Stage, stage

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("sash bench", description=__doc__, formatter_class=form)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SUITES))
    parser.add_argument("--quick", action="store_true", help="small sizes: to see that it works")
    parser.add_argument("--missing", action="store_true", help="only what has no record yet")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where records are")
    parser.add_argument("--pages", action="store_true", help="run nothing")
    parser.add_argument(
        "--docs", type=Path, metavar="FOLDER", help="write the documentation in it, and README.md"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = options_of(arguments)
    unknown = [name for name in options.names if name not in SUITES and name not in RUNS]
    if unknown:
        print(f"bench: no benchmark {unknown[0]!r}; {known(SUITES, unknown[0])}", file=sys.stderr)
        return 2
    if options.quick and options.out == RESULTS:
        options.out = RESULTS / "quick"  # figures of small sizes are none
    failed = [] if options.pages else run_all(chosen(options), options)
    for line in failed:
        print(f"bench: {line}", file=sys.stderr)
    return max(write_pages(options), int(bool(failed)))


def chosen(options: argparse.Namespace) -> list[Run]:
    """The runs that were asked for, by the name of their suite or of their record."""
    names = options.names or [name for name in SUITES if name not in LARGE]
    runs = [run for name in names for run in SUITES.get(name, (RUNS.get(name),)) if run]
    there = records.full(options.out) if options.missing else {}
    return [run for run in runs if run.record not in there]


def run_all(runs: list[Run], options: argparse.Namespace) -> list[str]:
    """Run one after the other; those that failed, with the last line they said."""
    failed = []
    with stage("benchmarks", total=len(runs)) as running:
        for number, run in enumerate(runs):
            running.done, running.note = number, run.record
            command = run.quick if options.quick else run.full
            last = run_one(command, options.out.resolve(), running)
            if last is not None:
                failed.append(f"benchmarks.{command} failed: {last}")
        running.done, running.note = len(runs), f"{len(runs) - len(failed)} of {len(runs)} done"
    return failed


def run_one(command: str, out: Path, running: Stage) -> str | None:
    """One benchmark, of which the last line is shown; the last line if it failed."""
    module, *arguments = command.split()
    program = [sys.executable, "-m", f"benchmarks.{module}", *arguments, "--out", str(out)]
    name, last = running.note, "it said nothing"
    pipe, join = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(program, cwd=ROOT, stdout=pipe, stderr=join, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip():
                last = line.strip()
                running.note = f"{name}: {last}"
    return last if process.returncode else None


def write_pages(options: argparse.Namespace) -> int:
    """The page of all records, and the documentation if it was asked for."""
    found = records.quick(options.out) if options.quick else records.full(options.out)
    if not found and not options.pages:  # some of the papers' experiments: they have own pages
        return 0
    if not found:
        print(f"bench: {options.out} holds no records: run without --pages", file=sys.stderr)
        return 1
    print(f"report: {charts.page(found).write(options.out / 'bench.html')}")
    for line in [] if options.quick else records.lines_of_missing(found):
        print(line)
    if options.docs is not None:
        changed = pages.write(found, options.docs)
        print(f"documentation: {', '.join(map(str, changed)) or 'nothing has changed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
