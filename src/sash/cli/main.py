"""The commands: arguments in, a status out; every failure is one line on standard error."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash
from sash.cli.errors import FAILED, INTERRUPTED, WRONG_INPUT, EndError, one_line
from sash.windows.duration import Duration

if TYPE_CHECKING:
    from sash.cli.call import Outcome
    from sash.cli.pipeline import Pipeline


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns its status.

    0 is done, 1 failed on the way, 2 wrong from the start, 130 interrupted.
    """
    options = parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            return int(options.command(options) or 0)
    except EndError as end:
        print(f"sash: {end}", file=sys.stderr)
        return end.status
    except KeyboardInterrupt:
        print("sash: interrupted; nothing half-written is left", file=sys.stderr, flush=True)
        if arguments is None:  # the end of the process: it would wait for threads that go on
            sys.stdout.flush()
            os._exit(INTERRUPTED)
        return INTERRUPTED
    except BrokenPipeError:  # as in `sash explain … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as problem:
        if os.environ.get("SASH_TRACE"):
            raise
        if isinstance(problem, ImportError) and "pip install" in str(problem):
            print(f"sash: {problem}", file=sys.stderr)  # it says which extra is missing
            return FAILED
        line = f"sash: {type(problem).__name__}: {one_line(problem)}"
        print(f"{line} (SASH_TRACE=1 shows where)", file=sys.stderr)
        return FAILED


def _warn(message: Warning | str, *where: Any, **more: Any) -> None:
    print(f"sash: {' '.join(str(message).split())}", file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    """The arguments of all commands."""
    top = argparse.ArgumentParser("sash", description="Aggregates over sliding windows.")
    top.add_argument("--version", action="version", version=f"sash {sash.__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    one = commands.add_parser("run", help="run a pipeline file")
    one.add_argument("file", type=Path, metavar="FILE.toml")
    one.add_argument("--stream", action="store_true", help="as a stream, from the same file")
    one.add_argument("--for", dest="seconds", type=_span, metavar="TIME",
                     help="end a stream after that time, as in --for '30 s'")  # fmt: skip
    one.add_argument("--watch", action="store_true", help="show a stream's figures as it runs")
    one.add_argument("--page", type=Path, metavar="PAGE.html",
                     help="keep them on a page, which refreshes itself")  # fmt: skip
    one.add_argument("--metrics", type=Path, metavar="FILE.prom",
                     help="keep them in a file, in the text format of Prometheus")  # fmt: skip
    _add_engine(one)
    one.add_argument("--report", type=Path, metavar="PAGE.html", help="show the answers on a page")
    one.set_defaults(command=_run)

    one = commands.add_parser("explain", help="say what a pipeline file would run, and why")
    one.add_argument("file", type=Path, metavar="FILE.toml")
    one.add_argument("--stream", action="store_true", help="as a stream")
    _add_engine(one)
    one.set_defaults(command=_explain)

    one = commands.add_parser("sql", help="run a query with windows over files")
    one.add_argument("query", metavar="SELECT …", help="the first file is the table t, too")
    what = "Parquet, CSV or JSON; a table by the file's name, or as NAME"
    one.add_argument("files", nargs="+", metavar="[NAME=]FILE", help=what)
    one.add_argument("--out", type=Path, metavar="FILE", help="write Parquet or CSV")
    one.add_argument("--replace", action="store_true", help="write over a file that is there")
    one.add_argument("--dialect", choices=("spark", "duckdb", "postgres"), default="spark")
    one.add_argument("--explain", action="store_true", help="say which part would run where")
    one.set_defaults(command=_sql)

    one = commands.add_parser("demo", help="rolling features over a year of real flights")
    one.add_argument("--out", type=Path, default=Path("sash-demo"), help="where results go")
    one.add_argument("--rows", type=int, help="only the first N flights")
    one.set_defaults(command=_demo)

    one = commands.add_parser(
        "bench",
        help="run the project's benchmarks, in its clone",
        prefix_chars="\0",  # so that options are passed on as they are, --help included
        add_help=False,
    )
    one.add_argument("arguments", nargs="*")
    one.set_defaults(command=_bench)

    one = commands.add_parser("warm", help="compile ahead what built-in aggregations need")
    one.add_argument(
        "--shipped", action="store_true", help="into the package, for any usual processor"
    )
    one.set_defaults(command=_warm)
    return top


def _add_engine(command: argparse.ArgumentParser) -> None:
    what = "in this process or on Spark, whatever the file says"
    command.add_argument("--engine", choices=("auto", "local", "spark"), help=what)


def _span(text: str) -> float:
    try:
        return Duration.of(text).ns / 1e9
    except (TypeError, ValueError) as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _run(options: argparse.Namespace) -> None:
    from sash.cli import checks

    if options.seconds is not None and not options.stream:
        raise EndError("run: --for is for streams: add --stream", WRONG_INPUT)
    for name in ("watch", "page", "metrics"):
        if getattr(options, name) and not options.stream:
            raise EndError(f"run: --{name} is for streams: add --stream", WRONG_INPUT)
    loaded = _loaded(options)
    if options.report is not None:
        checks.check_report(loaded)
    for name in ("report", "page", "metrics"):
        if getattr(options, name) is not None:
            checks.check_page(loaded, name, getattr(options, name))
    checks.check(loaded, options.stream)
    outcome = _outcome(loaded, options)
    rate = outcome.rows / outcome.seconds if outcome.seconds else 0.0
    place = f" to {loaded.sink.path}" if loaded.sink.path else ""
    print(f"{outcome.rows:,} rows{place} in {outcome.seconds:.1f} s, {rate:,.0f} per second")
    if outcome.late:
        print(f"{outcome.late:,} rows came too late for watermark = {loaded.watermark!r}")
    if options.report is not None:
        from sash.cli.run_report import write

        print(f"report: {write(loaded, outcome, options.report)}")


def _outcome(loaded: Pipeline, options: argparse.Namespace) -> Outcome:
    """Run a pipeline on the engine that fits, and say which that is."""
    from sash.cli import engine

    chosen = engine.choose(loaded, options.stream)
    print(f"  {chosen}", file=sys.stderr)
    if chosen.local:
        from sash.cli import in_process

        return in_process.batch(loaded, str(chosen))
    from sash.cli import on_spark

    with on_spark.started(loaded) as spark:
        if options.stream:
            from sash.cli.watch import Watch

            watch = Watch(loaded, options.watch, options.page, options.metrics)
            return on_spark.stream(loaded, spark, options.seconds, watch)
        return on_spark.batch(loaded, spark, str(chosen))


def _explain(options: argparse.Namespace) -> None:
    from sash.cli import checks, engine

    loaded = _loaded(options)
    checks.check_there(loaded)
    if options.stream:
        checks.check_watermark(loaded)
    chosen = engine.choose(loaded, options.stream)
    if chosen.local:
        from sash.cli import in_process

        print(in_process.explain(loaded, str(chosen)))
        return
    from sash.cli import on_spark

    with on_spark.started(loaded) as spark:
        print(on_spark.explain(loaded, spark, options.stream, str(chosen)))


def _loaded(options: argparse.Namespace) -> Pipeline:
    """The pipeline file, with what the command says instead of it."""
    from sash.cli.pipeline_file import load

    loaded = load(options.file)
    return loaded if options.engine is None else replace(loaded, engine=options.engine)


def _sql(options: argparse.Namespace) -> None:
    from sash.cli.query import run

    run(options.query, options.files, options)


def _demo(options: argparse.Namespace) -> Any:
    for package in ("pyspark", "pandas"):
        if find_spec(package) is None:
            raise EndError(f"demo: it needs {package}: pip install 'sash[demo]'", FAILED)
    from sash.cli.demo import main as demo

    return demo(options.out, options.rows)


def _bench(options: argparse.Namespace) -> int:
    from sash.cli.bench import main as bench

    return bench(options.arguments)


def _warm(options: argparse.Namespace) -> None:
    from sash.cli.warm import warm
    from sash.kernel import cache

    count = warm(options.shipped)
    print(f"{count} kernels in {cache.SHIPPED if options.shipped else cache.cache_dir()}")
