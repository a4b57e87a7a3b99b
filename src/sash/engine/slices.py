"""Slices: with `every`, a stream keeps one partial a key and slice instead of rows.

No window of a size and a slide begins or ends within a slice as long as their greatest common
divisor, so once a slice is complete its rows are combined, in order, and windows are
answered from slices. Where a partial is not made of a few numbers, rows are kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from sash.kernel.layout import Layout
from sash.monoids.monoid import Monoid, same
from sash.monoids.sums import Count
from sash.plan.definition import Aggregation, Query
from sash.plan.reach import steps_of
from sash.plan.types import number_type, unit_of
from sash.windows.duration import Duration
from sash.windows.frames import Bound, Sliding, length


@dataclass(frozen=True)
class Slices:
    """How rows become slices (`make`) and slices become answers (`use`), and what they need."""

    make: Query
    use: Query
    step: int
    offset: int
    digests: dict[str, str]  # of what is combined: partials of another are of no use

    def edge(self, time: float | None) -> float | None:
        """Where the first slice that is not complete at a time begins."""
        if time is None:
            return None
        return self.offset + (time - self.offset) // self.step * self.step

    def table(self, found: pa.Table) -> pa.Table:
        """What `make` gives, as rows whose time is their slice's start, a number a column."""
        time = self.use.time
        columns = {name: found.column(name) for name in self.make.by}
        columns[time] = found.column("window_start")
        for out in self.make.aggregations:
            columns |= flat(out, found.column(out).combine_chunks())
        return pa.table(columns)


def flat(out: str, partials: Any) -> dict[str, Any]:
    """A column for each number of partials."""
    if isinstance(partials, pa.ChunkedArray):
        partials = pa.concat_arrays(partials.chunks)
    if not pa.types.is_struct(partials.type):
        return {named(out, 0): partials}
    return {named(out, i): part for i, part in enumerate(partials.flatten())}


def named(out: str, i: int) -> str:
    return f"_{out}_{i}"


def slices_of(query: Query, schema: pa.Schema, key: str) -> Slices | None:
    """How to slice a query with `every`, its rows grouped by the column `key` first; or None."""
    every = query.every
    if every is None or isinstance(length(every.size), float):
        return None
    made: dict[str, Aggregation] = {}
    used: dict[str, Aggregation] = {}
    digests = {}
    for out, a in query.aggregations.items():
        kinds = [schema.field(name).type for name in a.columns]
        monoid = _combined(a, kinds)
        if monoid is None:
            return None
        shape = Layout.of(monoid.identity, monoid.dtype)
        if shape is None or not _is_flat(shape):
            return None
        over = Aggregation(a.name, a.columns or (query.time,), frame=a.frame)
        names = tuple(named(out, i) for i in range(len(shape.leaves)))
        result = a.result(kinds)
        made[out] = replace(over, monoid=_kept(monoid))
        used[out] = replace(over, columns=names, monoid=_again(a, monoid), result=_always(result))
        digests[out] = monoid.digest
    unit = unit_of(schema.field(query.time).type)
    size, slide, offset = (steps_of(b, unit) for b in (every.size, every.slide, every.offset))
    step = math.gcd(int(size), int(slide))
    bound: Bound = Duration(step * unit) if unit else step
    slice_ = Sliding(bound, bound, every.offset)
    return Slices(
        replace(query, by=(key, *query.by), aggregations=made, every=slice_),
        replace(query, aggregations=used), step, int(offset), digests,
    )  # fmt: skip


def _kept(typed: Monoid) -> Monoid:
    """Gives partials as they are, and nothing where there is none."""
    numbers = typed.with_(name=f"{typed.name}, kept", lower=same, inverse=None, typed=None)
    return Monoid(numbers.name, None, same, typed.combine, typed=lambda dtype: numbers)


def _again(a: Aggregation, typed: Monoid) -> Monoid:
    """Combines partials that were kept; over none of them, what the aggregation gives."""
    numbers = typed.with_(name=f"{typed.name}, again", lift=same, inverse=None, typed=None)
    whole = a.monoid or typed
    return Monoid(
        numbers.name, whole.identity, same, typed.combine, whole.lower,
        typed=lambda dtype: numbers,
    )  # fmt: skip


def _combined(a: Aggregation, kinds: list[pa.DataType]) -> Monoid | None:
    """The monoid that an aggregation combines, over numbers; None if it is no such one."""
    dtypes = [number_type(kind) for kind in kinds]
    if any(dtype is None for dtype in dtypes):
        return None
    if a.how == "count":
        return Count()
    if a.how != "combine" or a.monoid is None:
        return None
    return a.monoid.of(dtypes[0] if len(dtypes) == 1 else tuple(dtypes))


def _is_flat(shape: Layout) -> bool:
    if shape.parts is None:
        return shape.length is None
    return all(part.parts is None and part.length is None for part in shape.parts)


def _always(kind: pa.DataType | None) -> Any:
    return lambda kinds: kind
