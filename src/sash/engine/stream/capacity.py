"""Capacity: how large a stream's state gets, what is written, and the cores that it takes.

An estimate from the definition, the rates, and constants that were measured: the time per row and
per key of a batch. The state of windows by time is renewed once in the length of the windows, so
what is written per second is its size over that length.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import pyarrow as pa

from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.sealing import rows_of_bulk
from sash.plan.explain import Step


class Costs(NamedTuple):
    """Seconds of a core: per row, and per key that has rows in a batch, of two aggregations over
    one window. docs/operations.rst says how they were measured."""

    row: float
    key: float


IN_PROCESS = Costs(0.5e-6, 1e-6)
ON_SPARK = Costs(5.4e-6, 1e-6)
BATCH = 10
"""Seconds of a batch."""

TEXT, OBJECT = 24, 64
"""Bytes of a value whose width the type does not say, and of a partial that is an object."""

KEY_WIDTH = 16
"""Bytes of the numbers that stand for a key."""


class Sizes(NamedTuple):
    """What is kept: rows or slices by time and their bytes; bytes of partials, and per key."""

    items: float
    width: int
    partials: float
    per_key: float

    @property
    def total(self) -> float:
        return self.items * self.width + self.partials + self.per_key


def estimated(
    definition: StreamDefinition, rows_per_second: float, keys: int, costs: Costs
) -> list[Step]:
    """Lines for `explain`: the state, what is written per second, and the cores."""
    sizes = sizes_of(definition, rows_per_second, keys)
    what = "slices" if definition.kept.slice else "rows"
    size = "no limit: rows of all time are kept"
    if math.isfinite(sizes.total):
        size = f"about {shown(sizes.total)}"
    touched = keys_per_second(rows_per_second, keys)
    cores = rows_per_second * costs.row + touched * costs.key
    return [
        Step("size", f"{size} ({sizes.items:,.0f} {what} of {sizes.width} bytes by time)"),
        Step(
            "writes", f"about {shown(written(definition, sizes, rows_per_second, keys))} per second"
        ),
        Step(
            "cores",
            f"about {math.ceil(cores)}, for {rows_per_second:,.0f} rows per second in batches of "
            f"{BATCH} seconds",
        ),
    ]


def sizes_of(definition: StreamDefinition, rows_per_second: float, keys: int) -> Sizes:
    """How much a stream keeps."""
    states = definition.partials
    partial = KEY_WIDTH + sum(state.width or OBJECT for state in states)
    rows, width = rows_per_second * _seconds(definition), row_width(definition)
    if definition.kept.slice:
        slices = definition.kept.span / definition.kept.slice
        rows = min(rows, keys * slices)
        kinds = [definition.schema.field(name).type for name in _sliced_by(definition)]
        width = partial + sum(_width(kind) for kind in kinds)
    touched = keys_per_second(rows_per_second, keys) * BATCH
    bulk = max(rows_of_bulk(1), min(rows_per_second * BATCH, rows_of_bulk(int(touched))))
    nodes = entries(rows, max(1.0, rows / bulk), keys) * partial if states else 0.0
    tails = len(definition.plan.of("tail")) * _tail_width(definition)
    so_far = len(definition.plan.of("so far")) * (KEY_WIDTH + 2 * TEXT)
    return Sizes(rows, width, nodes, keys * (tails + so_far))


def keys_per_second(rows_per_second: float, keys: int) -> float:
    """Keys that a batch has rows of, over its length; rows are spread over keys at random."""
    return keys * -math.expm1(-rows_per_second * BATCH / keys) / BATCH


def written(definition: StreamDefinition, sizes: Sizes, rows_per_second: float, keys: int) -> float:
    """Bytes per second: rows or slices while they wait, and the state as it is renewed."""
    seconds = _seconds(definition)
    waiting = rows_per_second * row_width(definition)
    if definition.slices_at_once:
        slices = BATCH * 1e9 / (definition.kept.slice * (definition.plan.unit or 1_000_000_000))
        per_second = keys_per_second(rows_per_second, keys) * max(1.0, slices)
        waiting = min(waiting, per_second * sizes.width)
    if not seconds or math.isinf(seconds):
        return 2 * waiting
    return waiting + (sizes.items * sizes.width + sizes.partials) / seconds


def entries(rows: float, bulks: float, keys: int) -> float:
    """Partials of the nodes above bulks: per level at most one per row, and per key and node."""
    if not math.isfinite(rows):
        return math.inf
    levels = 1 + math.ceil(math.log2(max(1.0, bulks)))
    return sum(min(rows, keys * bulks / 2**level) for level in range(levels))


def row_width(definition: StreamDefinition) -> int:
    """Bytes of a row that is kept."""
    fields = [definition.schema.field(name).type for name in definition.needed]
    return KEY_WIDTH + sum(_width(kind) for kind in fields)


def _sliced_by(definition: StreamDefinition) -> list[str]:
    """The columns of slices other than partials."""
    return [*definition.plan.query.by, definition.time]


def _width(kind: pa.DataType) -> int:
    try:
        return max(1, kind.bit_width // 8)
    except ValueError:
        return TEXT


def _tail_width(definition: StreamDefinition) -> int:
    reach = [f.reach.rows_behind for f in definition.plan.frames if f.reach.rows_behind]
    return row_width(definition) * (1 + max(reach, default=1))


def _seconds(definition: StreamDefinition) -> float:
    unit = definition.plan.unit or 1_000_000_000
    if not definition.kept.bulks and definition.plan.query.every is None:
        return 0.0
    return definition.kept.span * unit / 1e9


def shown(size: float) -> str:
    """A number of bytes as a person reads it.

    >>> shown(12_345_678)
    '12.3 MB'
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size:.0f} bytes"
