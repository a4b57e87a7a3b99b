"""Rows that wait for their answers, and leave in their order as these come."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from sash.engine.expressions import outputs
from sash.engine.fixed import Room
from sash.plan.arithmetic import Place
from sash.plan.plan import Plan


class WaitingRows:
    """Batches of rows, the oldest first."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._batches: deque[pa.RecordBatch] = deque()
        self._outputs: Mapping[str, Room] = {}
        self._gone = 0  # rows that left

    def add(self, batch: pa.RecordBatch) -> None:
        """The rows of a batch wait from now on."""
        self._batches.append(batch)

    def write_to(self, outputs: Mapping[str, Room]) -> None:
        """Write results of the rows there, where that is possible."""
        self._outputs = outputs

    def answered(self, answers: Sequence[pa.Array], n: int) -> Iterator[pa.RecordBatch]:
        """The oldest n rows, batch by batch, with their answers: an array for each aggregation."""
        given, plan = 0, self._plan
        while given < n:
            part = self._next(n - given)
            found = {
                output.name: answer.slice(given, part.num_rows)
                for output, answer in zip(plan.outputs, answers, strict=True)
            }
            columns = dict(zip(part.schema.names, part.columns, strict=True))
            made = outputs(plan, columns, found, self._places(part.num_rows))
            self._gone += part.num_rows
            names = [*part.schema.names, *plan.query.outputs]
            yield pa.RecordBatch.from_arrays([*part.columns, *made], names=names)
            given += part.num_rows

    def _places(self, n: int) -> dict[str, Place]:
        """Where results of the next n rows go."""

        def place(there: Room) -> np.ndarray:
            return there(self._gone + n, np.float64)[self._gone :]

        return {name: partial(place, there) for name, there in self._outputs.items()}

    def _next(self, most: int) -> pa.RecordBatch:
        """The oldest rows of one batch, at most this many."""
        batch = self._batches.popleft()
        if batch.num_rows > most:
            self._batches.appendleft(batch.slice(most))
        return batch.slice(0, most)
