"""What `sash bench` runs: the one list of commands, each of which makes one record.

A figure of README or of the documentation is computed from the record of one of these commands
at full size (benchmarks/figures.py); the quick commands show that everything works.
"""

from __future__ import annotations

from benchmarks.run import Run

RATES = "Million rows per second, all with the same number of threads; more is better."
SECONDS = "Seconds, the best of several interleaved runs; less is better."
RELATIVE = "Time relative to the plain aggregation, of which the nanoseconds per row are given."

SWAG = (
    Run(
        "swag_static",
        "Windows of constant size",
        "swag --algorithms TwoStacksLite DABALite DABA FlatFIT AMTA Reactive --sizes 10 14 20 "
        "--repeat 3",
        "swag --algorithms TwoStacksLite DABALite FlatFIT AMTA Reactive --sizes 4 8 "
        "--items 20000 --repeat 1",
        "Million rows per second; each row is evicted, inserted and queried once.",
    ),
    Run(
        "swag_compile",
        "The first answer of a new process",
        "swag --experiment compile --algorithms TwoStacksLite DABALite FlatFIT AMTA Reactive",
        "swag --experiment compile --algorithms TwoStacksLite",
        "Seconds from an empty kernel cache and from a warm one, `import sash` included.",
    ),
)
LATENCY = (
    Run(
        "swag_latency",
        "The slowest steps",
        "swag --experiment latency --monoids sum --sizes 10 14 20 "
        "--algorithms TwoStacksLite DABALite DABA FlatFIT Reactive",
        "swag --experiment latency --algorithms DABALite --monoids sum --sizes 4 --items 20000",
        "Nanoseconds per step, by the share of steps that took no longer.",
    ),
)
FIBA = (
    Run(
        "fiba_targets",
        "FiBA: rows in order and late, in bulks",
        "fiba",
        "fiba --size 4096 --repeat 1",
        "Million entries per second, and the rate relative to C++ Two-Stacks Lite.",
    ),
)
BILLION = (
    Run(
        "papers/full/fiba-billion",
        "FiBA: a window of 10^9 entries",
        "papers fiba --only billion --full",
        "papers fiba --only billion --size tiny",
    ),
)
KVS = (
    Run(
        "kvs_targets",
        "Windows in a store",
        "kvs --stores lmdb --large 100000000",
        "kvs --stores lmdb --large 100000 --repeat 1",
    ),
)
SHARING = (
    Run(
        "sharing",
        "Many aggregations in one call",
        "sharing --rows 10000000",
        "sharing --rows 20000 --repeat 1 --cases together max",
        SECONDS,
    ),
)
RANGES = (
    Run(
        "ranges",
        "Several ranges: a window each, or FlatFIT",
        "sharing --ranges 2 4 8 32",
        "sharing --ranges 2 --rows 20000 --repeat 1",
        "Nanoseconds per answer; less is better.",
    ),
)


def _keys(keys: int, order: str, window: int) -> Run:
    said = "1,000 keys" if keys == 1000 else "A million keys"
    words = "in order of time" if order == "time" else "in random order"
    return Run(
        f"tables_compare_random_{keys}_keys_{order}_order",
        f"{said}, rows {words}",
        f"tables --rows 5000000 --keys {keys} --order {order} --windows {window} --quick",
        f"tables --rows 20000 --keys {keys} --order {order} --windows {window} --quick --repeat 1",
        RATES,
    )


def _features(keys: int, order: str, rows: int) -> Run:
    said = "1,000 keys" if keys == 1000 else "a million keys"
    words = "in order of time" if order == "time" else "in random order"
    common = f"tables --experiment features --keys {keys} --order {order}"
    return Run(
        f"tables_features_random_{keys}_keys_{order}_order",
        f"24 features, {said}, {words}",
        f"{common} --rows {rows} --repeat 2",
        f"{common} --rows 2000 --repeat 1",
        RATES,
    )


TABLES = (
    Run(
        "tables_compare_random",
        "Tables in process, rows at random times",
        "tables --times random --rows 5000000 --windows 1000 100000 --others pandas",
        "tables --times random --rows 20000 --windows 100 --others pandas --repeat 1",
        RATES,
    ),
    Run(
        "tables_compare_regular",
        "Tables in process, rows at regular times",
        "tables --times regular --rows 5000000 --windows 1000 100000 --others pandas",
        "tables --times regular --rows 20000 --windows 100 --others pandas --repeat 1",
        RATES,
    ),
    _keys(1000, "time", 100),
    _keys(1000, "random", 100),
    _keys(1_000_000, "time", 10),
    _keys(1_000_000, "random", 10),
    _features(1000, "time", 2_000_000),
    _features(1000, "random", 2_000_000),
    _features(1_000_000, "time", 1_000_000),
    _features(1_000_000, "random", 1_000_000),
    Run(
        "tables_own_random",
        "Tables in process: a user's own monoid",
        "tables --experiment own --rows 5000000",
        "tables --experiment own --rows 20000 --repeat 1",
        "Million rows per second, on a tenth of the rows; more is better.",
    ),
    Run(
        "tables_first_random",
        "Six aggregations over a pandas table in a new process",
        "tables --experiment first --repeat 5",
        "tables --experiment first --repeat 1",
        "Seconds from `import sash` to the answers, with an empty kernel cache and a filled one.",
    ),
    Run(
        "tables_flat_random",
        "Time per row, by the size of the window",
        "tables --experiment flat --rows 5000000",
        "tables --experiment flat --rows 20000 --repeat 1",
        "Nanoseconds per row; less is better.",
    ),
)
ROLLFUN = (
    Run(
        "rollfun",
        "Rolling functions, the questions of the public db-benchmark",
        "rollfun --rows 10000000",
        "rollfun --rows 20000 --quick --repeat 1",
        "Million rows per second; more is better.",
    ),
)
LANGUAGE = (
    Run(
        "language_random_past",
        "Filters, expressions and exclusion",
        "language --rows 2000000 --windows 1000",
        "language --rows 20000 --windows 100 --repeat 1",
        RELATIVE,
    ),
    Run(
        "language_random_past_1000_keys",
        "Filters, expressions and exclusion, 1,000 keys",
        "language --rows 2000000 --windows 100 --keys 1000",
        "language --rows 20000 --windows 100 --keys 1000 --repeat 1",
        RELATIVE,
    ),
)
SQL = (
    Run(
        "sql",
        "A query in SQL, and the same in Python",
        "sql --rows 10000000",
        "sql --rows 20000 --repeat 1",
        SECONDS,
    ),
)
SPARK = (
    Run(
        "spark_batch_one",
        "Spark: one window",
        "spark_batch --experiment one --rows 1000000 --window 10000 --slow-rows 100000",
        "spark_batch --experiment one --rows 20000 --slow-rows 5000 --window 100 --repeat 1",
        SECONDS,
    ),
    Run(
        "spark_batch_many",
        "Spark: four windows, five aggregations",
        "spark_batch --experiment many --rows 1000000 --repeat 3",
        "spark_batch --experiment many --rows 20000 --window 100 --repeat 1",
        SECONDS,
    ),
    Run(
        "spark_batch_uncovered",
        "Spark: what its segment tree leaves out",
        "spark_batch --experiment uncovered --rows 1000000 --window 10000 --slow-rows 100000 "
        "--repeat 2",
        "spark_batch --experiment uncovered --rows 20000 --slow-rows 2000 --window 100 --repeat 1",
        SECONDS,
    ),
    Run(
        "spark_batch_shuffle",
        "Spark: against the shuffle alone",
        "spark_batch --experiment shuffle --many-rows 10000000 --repeat 2",
        "spark_batch --experiment shuffle --many-rows 20000 --many-keys 10 1000 --repeat 1",
        SECONDS,
    ),
)
DEMO = (
    Run(
        "demo",
        "The demo's flights, each way as a first run",
        "demo --repeat 3",
        "demo --rows 2000 --repeat 1",
        "Seconds from files to files, the best of several; in process with the start of Python, on "
        "Spark as the first job of a new Java, without its start.",
    ),
)
STREAMING = (
    Run(
        "streaming_flat",
        "Streams in process: a batch, by the rows in the window",
        "streaming --experiment flat --keys 1 100 5000",
        "streaming --experiment flat --keys 100 --repeat 1",
        "Milliseconds and megabytes per batch of 10,000 rows; less is better.",
    ),
    Run(
        "streaming_late",
        "Streams in process: late rows, on arrival",
        "streaming --experiment late --keys 1 100 5000",
        "streaming --experiment late --keys 100 --repeat 1",
        "Milliseconds and megabytes per batch of 10,000 rows; less is better.",
    ),
    Run(
        "streaming_every",
        "Streams on Spark: windows of an hour by 10 s, against Spark's window()",
        "streaming --experiment every --keys 100 10000",
        "streaming --experiment every --keys 100 --scale 0.002 --repeat 1",
        "Thousand rows per second; more is better.",
    ),
    Run(
        "streaming_day",
        "Streams on Spark: a day by a second, against an hour by 10 s",
        "streaming --experiment day --keys 100 10000",
        "streaming --experiment day --keys 100 --scale 0.002 --repeat 1",
        "Thousand rows per second; more is better.",
    ),
    Run(
        "streaming_rows",
        "Streams on Spark: against rows passed through",
        "streaming --experiment rows --keys 100 100000",
        "streaming --experiment rows --keys 100 --scale 0.002 --repeat 1",
        "Thousand rows per second; more is better.",
    ),
    Run(
        "streaming_state",
        "Streams on Spark: cost of a commit, by the size of the state",
        "streaming --experiment state --state-megabytes 5 500",
        "streaming --experiment state --state-megabytes 1 2 --scale 0.1",
        "Batches of 10,000 rows.",
    ),
)
ASOF = (
    Run(
        "asof",
        "Windows as of the moments of another table",
        "asof --events 10000000 --keys 1000 1000000 --repeat 2",
        "asof --events 20000 --keys 1000 --repeat 1",
        SECONDS,
    ),
    Run(
        "asof_large",
        "Windows as of the moments of a small table, over 100 million events",
        "asof --events 100000000 --spine 100000 --keys 1000000 --ways sash limit",
        "asof --events 20000 --spine 100 --keys 2000 --ways sash limit --repeat 1",
        SECONDS,
    ),
    Run(
        "asof_spark",
        "Windows as of the moments of another table, on Spark",
        "asof --spark --events 10000000 --keys 1000 1000000 --repeat 2",
        "asof --spark --events 20000 --keys 1000 1000000 --repeat 1",
        SECONDS,
    ),
    Run(
        "asof_spark_large",
        "Windows as of the moments of a small table on Spark, over 100 million events",
        "asof --spark --events 100000000 --spine 100000 --keys 1000000 --ways sash --repeat 1",
        "asof --spark --events 20000 --spine 100 --keys 2000 --ways sash --repeat 1",
        SECONDS,
    ),
)
SERVING = (
    Run(
        "serving",
        "Values to serve: reads, and batches of all keys",
        "serving --keys 100000",
        "serving --stores memory lmdb --keys 500 --gets 200",
    ),
)
PAPERS = (
    Run(
        "papers",
        "The papers' experiments: which of their claims hold",
        "papers",
        "papers --size tiny",
    ),
)

SUITES: dict[str, tuple[Run, ...]] = {
    "tables": TABLES,
    "rollfun": ROLLFUN,
    "sharing": SHARING,
    "ranges": RANGES,
    "language": LANGUAGE,
    "sql": SQL,
    "asof": ASOF,
    "spark": SPARK,
    "demo": DEMO,
    "streaming": STREAMING,
    "serving": SERVING,
    "swag": SWAG,
    "latency": LATENCY,
    "fiba": FIBA,
    "kvs": KVS,
    "papers": PAPERS,
    "billion": BILLION,
}
"""By the name that `sash bench` takes."""

LARGE = ("papers", "billion")
"""Run only when they are named: half an hour of experiments, and 24 GiB of memory."""

RUNS: dict[str, Run] = {run.record: run for runs in SUITES.values() for run in runs}
"""By the name of the record."""

SUITE_OF = {run.record: name for name, runs in SUITES.items() for run in runs}


def of_command(command: str) -> Run | None:
    """The run that a command is of, at full size or quick."""
    runs = [run for run in RUNS.values() if command in (run.command, run.quick_command)]
    return runs[0] if runs else None


def is_full(command: str) -> bool:
    """Whether a command is one of the list, at full size."""
    return any(run.command == command for run in RUNS.values())
