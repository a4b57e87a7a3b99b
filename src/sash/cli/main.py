"""The commands: arguments in, a status out; every failure is one line on standard error."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import sash
from sash.cli.errors import FAILED, INTERRUPTED, WRONG_INPUT, EndError, known, one_line
from sash.windows.duration import Duration


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns its status.

    0 is done, 1 failed on the way, 2 wrong from the start, 130 interrupted.
    """
    options = parser().parse_args(arguments)
    try:
        return int(options.command(options) or 0)
    except EndError as end:
        print(f"sash: {end}", file=sys.stderr)
        return end.status
    except KeyboardInterrupt:
        print("sash: interrupted; nothing half-written is left", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # as in `sash explain … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as problem:
        if os.environ.get("SASH_TRACE"):
            raise
        line = f"sash: {type(problem).__name__}: {one_line(problem)}"
        print(f"{line} (SASH_TRACE=1 shows where)", file=sys.stderr)
        return FAILED


def parser() -> argparse.ArgumentParser:
    """The arguments of all commands."""
    top = argparse.ArgumentParser("sash", description="Aggregates over sliding windows, on Spark.")
    top.add_argument("--version", action="version", version=f"sash {sash.__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    one = commands.add_parser("run", help="run a pipeline file")
    one.add_argument("file", type=Path, metavar="FILE.toml")
    one.add_argument("--stream", action="store_true", help="as a stream, from the same file")
    one.add_argument("--for", dest="seconds", type=_span, metavar="TIME",
                     help="end a stream after that time, as in --for '30 s'")  # fmt: skip
    one.add_argument("--report", type=Path, metavar="PAGE.html", help="show the answers on a page")
    one.set_defaults(command=_run)

    one = commands.add_parser("explain", help="say what a pipeline file would run, and why")
    one.add_argument("file", type=Path, metavar="FILE.toml")
    one.add_argument("--stream", action="store_true", help="as a stream")
    one.set_defaults(command=_explain)

    one = commands.add_parser("demo", help="rolling features over a year of real flights")
    one.add_argument("--out", type=Path, default=Path("sash-demo"), help="where results go")
    one.add_argument("--rows", type=int, help="only the first so many flights")
    one.set_defaults(command=_demo)

    one = commands.add_parser("bench", help="run the project's benchmarks, in its clone")
    one.add_argument("--quick", action="store_true", help="small sizes: to see that it works")
    one.add_argument("--only", nargs="+", metavar="NAME", help="some of the benchmarks")
    one.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    one.add_argument(
        "--pages", action="store_true", help="make the pages from results that are there"
    )
    one.add_argument(
        "--docs", type=Path, metavar="PAGE.rst", help="also write the documentation's page"
    )
    one.set_defaults(command=_bench)
    return top


def _span(text: str) -> float:
    try:
        return Duration.of(text).ns / 1e9
    except (TypeError, ValueError) as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _run(options: argparse.Namespace) -> None:
    from sash.cli import checks, pipeline, run

    if options.seconds is not None and not options.stream:
        raise EndError("run: --for is for streams: add --stream", WRONG_INPUT)
    loaded = pipeline.load(options.file)
    if options.report is not None and loaded.sink.format != "parquet":
        loaded.sink.table.wrong("format", 'a report is made of what was written; use "parquet"')
    checks.check(loaded, options.stream)
    spark = run.start(loaded)
    try:
        if options.stream:
            outcome = run.stream(loaded, spark, options.seconds)
        else:
            outcome = run.batch(loaded, spark)
        rate = outcome.rows / outcome.seconds if outcome.seconds else 0.0
        place = f" to {loaded.sink.path}" if loaded.sink.path else ""
        print(f"{outcome.rows:,} rows{place} in {outcome.seconds:.1f} s, {rate:,.0f} a second")
        if outcome.late:
            print(f"{outcome.late:,} rows came too late for watermark = {loaded.watermark!r}")
        if options.report is not None:
            from sash.cli.run_report import write

            print(f"report: {write(loaded, outcome, spark, options.report)}")
    finally:
        spark.stop()


def _explain(options: argparse.Namespace) -> None:
    from sash.cli import pipeline, run

    loaded = pipeline.load(options.file)
    spark = run.start(loaded)
    try:
        print(run.explain(loaded, spark, options.stream))
    finally:
        spark.stop()


def _demo(options: argparse.Namespace) -> Any:
    from sash.cli.demo import main as demo

    return demo(options.out, options.rows)


def _bench(options: argparse.Namespace) -> Any:
    from sash.cli.bench import SUITES
    from sash.cli.bench import main as bench

    for name in options.only or ():
        if name not in SUITES:
            raise EndError(f"bench: no benchmark {name!r}; {known(SUITES, name)}", WRONG_INPUT)
    return bench(options.out, options.only or list(SUITES), options)
