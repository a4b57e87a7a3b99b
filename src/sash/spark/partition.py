"""A partition at work: what runs in Spark's Python workers, over batches sorted by key and time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa

from sash.engine.changed import ChangedWindows
from sash.engine.row_windows import run
from sash.kernel.sent import receive
from sash.plan.plan import Plan

Batches = Iterable[pa.RecordBatch]
W = TypeVar("W")


@dataclass(frozen=True)
class Work:
    """The instructions of a worker; small, and pickled once per task.

    `names`: the columns as the plan knows them, in their order; `answers`: the types of
    the answers; `dropped`: columns that do not go back; `home`: a column that says
    which rows do, where a partition has rows of other ranges of time too; `kernels`: what the
    driver has compiled, so that no worker has to.
    """

    plan: Plan
    names: tuple[str, ...]
    answers: dict[str, pa.DataType]
    dropped: tuple[str, ...] = ()
    home: str | None = None
    kernels: Mapping[str, bytes] = field(default_factory=dict)


def in_workers(over: Callable[[W, Batches], Iterator[pa.RecordBatch]], work: W) -> Any:
    """The function for mapInArrow, under the name that Spark shows; `over` is imported there."""

    def sash(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return over(work, batches)

    return sash


def over(work: Work, batches: Batches) -> Iterator[pa.RecordBatch]:
    """A partition's rows with their answers, as Spark's schema has them."""
    named = (batch.rename_columns(list(work.names)) for batch in batches)
    first = next(named, None)
    if first is not None:
        receive(work.kernels)
        plan = work.plan.of_query(work.plan.query, first.schema)
        every = plan.query.every
        changed = ChangedWindows(plan) if every is not None and every.changes else None
        for batch in run(plan, chain([first], named)):
            if changed is None:
                yield _given(work, batch)
                continue
            for part in changed.of(pa.Table.from_batches([batch])).combine_chunks().to_batches():
                yield _given(work, part)


def _given(work: Work, batch: pa.RecordBatch) -> pa.RecordBatch:
    if work.home is not None:
        batch = batch.filter(batch.column(work.home))  # an expression fails on no rows
    kept = [i for i, name in enumerate(batch.schema.names) if name not in work.dropped]
    names = [batch.schema.names[i] for i in kept]
    columns = [
        cast_to(batch.column(i), work.answers.get(name))
        for i, name in zip(kept, names, strict=True)
    ]
    if len(set(names)) < len(names):  # Java's reader takes two of a name for one
        names = [f"c{i}" for i in kept]
    return pa.RecordBatch.from_arrays(columns, names=names)


def cast_to(array: pa.Array, kind: pa.DataType | None) -> pa.Array:
    """An array of answers as Spark has them; other columns, of no kind, as they are."""
    return array if kind is None or array.type == kind else array.cast(kind)
