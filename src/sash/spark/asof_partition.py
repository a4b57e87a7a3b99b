"""A partition of as-of windows at work: what runs in Spark's Python workers, over merged rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa

from sash.engine.asof_merged import Merged, run
from sash.plan.definition import Query
from sash.plan.plan import Plan
from sash.spark.partition import Batches, cast_to


@dataclass(frozen=True)
class Work:
    """The instructions of a worker; small, and pickled once per task.

    `events`: the place in a merged row of each column that is needed of the events, by its
    name; `spine`: that of each of the spine's, which have `names`; `is_spine`: that of the
    column that says which rows are the spine's; `part`: a further key, where keys are split.
    """

    plan: Plan
    events: Mapping[str, int]
    spine: tuple[int, ...]
    names: tuple[str, ...]
    is_spine: int
    answers: dict[str, pa.DataType]
    part: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the events' keys, and of the further one."""
        by = self.plan.query.by
        return by if self.part is None else (*by, self.part)

    def merged(self, batch: pa.RecordBatch) -> Merged:
        """The events and the spine's rows of a batch."""
        is_spine = batch.column(self.is_spine)
        flags = np.asarray(is_spine)
        events = [batch.column(place) for place in self.events.values()]
        there = pa.RecordBatch.from_arrays(events, names=list(self.events))
        here = pa.RecordBatch.from_arrays([batch.column(i) for i in self.spine], names=self.names)
        keys = [batch.column(self.events[name]) for name in self.keys]
        return Merged(there.filter(pa.array(~flags)), here.filter(is_spine), flags, keys)

    def inner(self, batch: Merged) -> Query:
        """The query over columns as they come, with the further key."""
        spine = self.plan.query.spine
        assert spine is not None
        schema = batch.spine.schema
        if self.part is not None:
            schema = schema.append(batch.events.schema.field(self.part))
            spine = replace(spine, by=(*spine.by, self.part))
        return replace(self.plan.query, by=self.keys, spine=replace(spine, schema=schema))


def over(work: Work, batches: Batches) -> Iterator[pa.RecordBatch]:
    """The spine's rows of a partition with their answers, as Spark's schema has them."""
    merged = (work.merged(batch) for batch in batches if batch.num_rows)
    first = next(merged, None)
    if first is not None:
        plan = work.plan.of_query(work.inner(first), first.events.schema)
        for batch in run(plan, chain([first], merged)):
            kinds = [*(None for _ in work.names), *work.answers.values()]
            columns = [cast_to(column, kind) for column, kind in zip(batch.columns, kinds)]
            names = [f"c{i}" for i in range(len(columns))]  # Java reads columns by their place
            yield pa.RecordBatch.from_arrays(columns, names=names)
