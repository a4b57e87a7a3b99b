"""The watermark of the micro-batch before, for tasks that send rows to their shards.

A row is late if the watermark had passed it before its micro-batch, which only shards know. Rows
that may be late are sent as they are; the others may be combined before. So each shard leaves the
watermark in a local file, by the query's run, and tasks of the next micro-batch find it there,
unless none of the shards ran on their machine: then all rows are sent as they are. Shards refuse
slices that were made with another watermark than theirs.
"""

from __future__ import annotations

import contextlib
import json
import math
import zlib
from typing import NamedTuple

from pyspark import TaskContext

from sash.spark.local_pages import LocalPages, NoPages

RUN, BATCH = "spark.jobGroup.id", "streaming.sql.batchId"
"""What Spark calls the run of a query, and its micro-batch, in the properties of a task."""


class Mark(NamedTuple):
    """A watermark in ticks, -infinity where there is none, and the micro-batch that ended at it."""

    batch: int
    ticks: float


class Marks:
    """The watermark of a stream's last micro-batch, in a local file; `name`: the stream's."""

    def __init__(self, name: str, near: LocalPages | NoPages) -> None:
        self._name, self._near = name, near
        self._kept: Mark | None = None

    def keep(self, ticks: float | None) -> None:
        """Leave the watermark that a shard has after this task's micro-batch."""
        if (task := _task()) is not None:
            run, batch = task
            mark = Mark(batch, -math.inf if ticks is None else ticks)
            if mark == self._kept:
                return
            self._kept = mark
            self._near.put(self._file(run), json.dumps(mark).encode())

    def before(self) -> float | None:
        """The watermark of the micro-batch before this task's; None if it is not known here."""
        if (task := _task()) is None:
            return None
        run, batch = task
        found = self._near.get(self._file(run))
        if found is None:
            return None
        with contextlib.suppress(ValueError, TypeError):
            mark = Mark(*json.loads(bytes(found)))
            return mark.ticks if mark.batch == batch - 1 else None
        return None

    def _file(self, run: str) -> str:
        return f"mark-{run}-{self._name}"


def marks_of(definition: bytes, cache: bool) -> Marks:
    """Those of the stream that has a definition."""
    return Marks(f"{zlib.crc32(definition):08x}", LocalPages() if cache else NoPages())


def _task() -> tuple[str, int] | None:
    """The run of the query and the micro-batch that this task is of."""
    task = TaskContext.get()
    run, batch = (task and task.getLocalProperty(name) for name in (RUN, BATCH))
    if not run or not batch or "/" in run:
        return None
    return run, int(batch)
