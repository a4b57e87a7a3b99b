"""Capacity: how large a stream's state gets and what a batch writes, from the rates.

An estimate from the definition and from constants that were measured: the widths of columns, the
partials per key of the nodes above the bulks, and the rows that one core answers in a second.
"""

from __future__ import annotations

import math

import pyarrow as pa

from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.sealing import BULK
from sash.plan.explain import Step

ROWS_PER_CORE_SECOND = 1_000_000
"""Rows that one core of 2020's servers takes in and answers in a second, two aggregations over
one window, in process (`python -m benchmarks.streaming --experiment flat`), halved: Spark's own
work per row is as much again."""

TEXT = 24
"""Bytes of a value whose width the type does not say."""


def estimated(definition: StreamDefinition, rows_per_second: float, keys: int) -> list[Step]:
    """Lines for `explain`: the state, what is written per second, and the cores."""
    width = row_width(definition)
    seconds = _seconds(definition)
    rows = rows_per_second * seconds
    bulks = max(1.0, rows / BULK)
    partial = 16 + sum(_partial_width(state) for state in definition.partials)
    nodes = entries(rows, bulks, keys) * partial if definition.partials else 0.0
    tails = keys * sum(
        _tail_width(definition, width) for _ in definition.of_structure.get("tail", [])
    )
    so_far = keys * 48 * len(definition.of_structure.get("so far", []))
    total = rows * width + nodes + tails + so_far
    unbounded = "" if math.isfinite(total) else "; without a bound: rows of all time are kept"
    written = 2 * rows_per_second * (width + (partial if definition.partials else 0))
    cores = max(1, math.ceil(rows_per_second / ROWS_PER_CORE_SECOND))
    size = shown(total) if math.isfinite(total) else "no limit"
    return [
        Step("size", f"about {size}{unbounded} ({rows:,.0f} rows of {width} bytes by time)"),
        Step("writes", f"about {shown(written)} per second"),
        Step("cores", f"about {cores}, for {rows_per_second:,.0f} rows per second"),
    ]


def entries(rows: float, bulks: float, keys: int) -> float:
    """Partials of the nodes above bulks: per level at most one per row, and per key and node."""
    if not math.isfinite(rows):
        return math.inf
    levels = 1 + math.ceil(math.log2(max(1.0, bulks)))
    return sum(min(rows, keys * bulks / 2**level) for level in range(levels))


def row_width(definition: StreamDefinition) -> int:
    """Bytes of a row that is kept."""
    fields = [definition.schema.field(name).type for name in definition.needed]
    return 16 + sum(_width(kind) for kind in fields)


def _width(kind: pa.DataType) -> int:
    try:
        return max(1, kind.bit_width // 8)
    except ValueError:
        return TEXT


def _partial_width(state: object) -> int:
    return 24 if getattr(state, "is_numbers", False) else 64


def _tail_width(definition: StreamDefinition, width: int) -> int:
    reach = [f.reach.rows_behind for f in definition.plan.frames if f.reach.rows_behind]
    return width * (1 + max(reach, default=1))


def _seconds(definition: StreamDefinition) -> float:
    unit = definition.plan.unit or 1_000_000_000
    if not definition.keeps_bulks and definition.plan.query.every is None:
        return 0.0
    return (definition.ahead + definition.behind) * unit / 1e9


def shown(size: float) -> str:
    """A number of bytes as a person reads it.

    >>> shown(12_345_678)
    '12.3 MB'
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size:.0f} bytes"
