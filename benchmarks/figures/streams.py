"""Figures of streams in process, and of the values that they serve."""

from __future__ import annotations

from benchmarks.figures.figure import (
    Figure,
    Section,
    column,
    of,
    relative,
)

FULL = 10_000_000
BATCH = "batches of 10,000 rows"


def batch(emit: str, keys: int) -> Figure:
    how = f'`emit="{emit}"`' if emit in ("final", "arrival") else "`every` tick of time"
    return Figure(
        f"stream-{emit.replace(' ', '-')}-{keys}",
        f"stream in process, 10^7 rows in the window, {BATCH}, {keys:,} keys, {how}",
        "streaming_flat",
        column("ms per batch", emit=emit, keys=keys, rows_in_the_window=FULL),
        of("ms per batch"),
        "lower",
    )


def grows(what: str, keys: int, by: str) -> Figure:
    return relative(
        f"stream-{by.partition(' ')[0]}-{keys}",
        f"the same, final, on arrival and `every` tick: {what} per batch relative to 10^5 rows in "
        f"the window, {keys:,} key{'s' * (keys > 1)}",
        "streaming_flat",
        column(by, keys=keys, rows_in_the_window=FULL),
    )


def late(keys: int) -> Figure:
    return relative(
        f"stream-late-{keys}",
        f'`emit="arrival"`, 1 % of rows late by up to ten batches, {keys:,} '
        f"key{'s' * (keys > 1)}: time relative to rows in order",
        "streaming_late",
        column("time to in order", keys=keys, late="1%"),
    )


STREAMS = Section(
    "Streams in process",
    [
        batch("final", 100),
        batch("final", 5000),
        batch("arrival", 100),
        batch("arrival", 5000),
        batch("every 1", 100),
        batch("every 1", 5000),
        *(grows("time", keys, "time to 10^5") for keys in (1, 100, 5000)),
        *(grows("bytes read", keys, "bytes to 10^5") for keys in (1, 100, 5000)),
        *(late(keys) for keys in (1, 100, 5000)),
    ],
    "Max and mean over one window, which is full before anything is measured.",
)


def served(store: str, says: str, name: str, unit: str) -> Figure:
    text = f"{says} from {store}, {{keys}} keys of three values"
    kind = store.rpartition(" ")[2].lower()
    return Figure(
        f"serve-{kind}-{name.replace(' ', '-')}",
        text,
        "serving",
        column(name, store=kind),
        of(unit),
        "lower",
    )


SERVING = Section(
    "Values to serve",
    [
        figure
        for store in ("a local Redis", "LMDB")
        for figure in (
            served(store, "a `get`, median,", "get p50 us", "µs"),
            served(store, "a `get`, 99th percentile,", "get p99 us", "µs"),
            served(
                store, "a `get`, 99th percentile of the process's own time,", "own p99 us", "µs"
            ),
        )
    ]
    + [
        Figure(
            f"serve-batch-{kind}",
            f"a batch in which all {{keys}} keys change, with three values each, to {store}",
            "serving",
            column("batch s", store=kind),
            of("s"),
            "lower",
        )
        for kind, store in (("redis", "a local Redis"), ("lmdb", "LMDB"))
    ],
)
