"""The engine: record batches sorted by key and time in, the same rows with answers out.

Rows are numbered through all batches. Each frame finds the bounds of the rows that
are ready (all of their window is at hand), each worker answers for them, and the
batch goes on with the answers added. What is kept between batches is the windows'
own rows and the rows that are not ready yet, however many rows have passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.columns import changes, number_type, numbers, one_array
from sash.engine.definition import Query, unit_of
from sash.engine.frames import Finder, ready_rows
from sash.engine.tape import Tape
from sash.engine.workers import worker
from sash.windows.frames import Delta, Frame, Until


class Stream:
    """A query at work over a stream of batches."""

    def __init__(self, query: Query, schema: pa.Schema) -> None:
        query.check(schema)
        self.query, self.schema = query, schema
        self._rows = self._done = 0  # rows that came, rows that went
        self._pending: list[pa.RecordBatch] = []
        kind = schema.field(query.time).type
        self._dtype = number_type(kind) or np.dtype(np.int64)
        if self._dtype.kind != "f":
            self._dtype = np.dtype(np.int64)
        else:
            self._dtype = np.dtype(np.float64)
        self._time = Tape(self._dtype)
        self._keys = np.zeros(0, np.int64)
        self._last_key: list[pa.Array] | None = None
        self._frames = self._group(unit_of(kind))
        self._workers = {
            out: worker(
                a, [schema.field(c).type for c in a.columns], query.result_type(out, schema)
            )
            for out, a in query.aggregations.items()
        }

    def _group(self, unit: int | None) -> dict[Any, FrameAtWork]:
        """The frames, each once, however many aggregations are over it."""
        return {
            a.frame: FrameAtWork(a.frame, self._dtype, unit, self.schema)
            for a in self.query.aggregations.values()
            if a.frame is not None
        }

    def feed(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take a batch; give the rows that are ready."""
        if batch.num_rows:
            self._take(batch)
            yield from self._give(last=False)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """No more rows come: give the rest."""
        yield from self._give(last=True)

    def _take(self, batch: pa.RecordBatch) -> None:
        columns = {name: one_array(batch.column(name)) for name in self.query.columns()}
        times = self._times(columns[self.query.time])
        starts = self._starts([columns[name] for name in self.query.by], batch.num_rows)
        self._check_order(times, starts)
        self._time.add(times)
        self._keys = np.concatenate([self._keys, self._rows + starts])
        for frame in self._frames.values():
            frame.take(columns)
        for out, a in self.query.aggregations.items():
            self._workers[out].take([columns[name] for name in a.columns])
        self._rows += batch.num_rows
        self._pending.append(batch)

    def _times(self, column: pa.Array) -> np.ndarray:
        name = self.query.time
        if column.null_count:
            raise ValueError(
                f"the time column {name!r} has {column.null_count} null(s): drop those rows, or "
                "give them a time"
            )
        times = numbers(column).astype(self._dtype, copy=False)
        if times.dtype.kind == "f" and np.isnan(times).any():
            raise ValueError(f"the time column {name!r} has NaN: drop those rows")
        return -times if self.query.descending else times

    def _starts(self, keys: list[pa.Array], n: int) -> np.ndarray:
        """Which rows of a batch begin a key."""
        begins = np.zeros(n, np.bool_)
        begins[1:] = changes(keys) if keys else False
        last = self._last_key
        begins[0] = last is None or any(
            not _alike(a, b) for a, b in zip(last, (k.slice(0, 1) for k in keys), strict=True)
        )
        self._last_key = [key.slice(n - 1, 1) for key in keys]
        return np.flatnonzero(begins)

    def _check_order(self, times: np.ndarray, starts: np.ndarray) -> None:
        back = np.flatnonzero(times[1:] < times[:-1]) + 1
        wrong = np.setdiff1d(back, starts)
        if len(starts) == 0 or starts[0] != 0:
            before = self._time.values[-1:]
            if len(before) and times[0] < before[0]:
                wrong = np.append(wrong, 0)
        if len(wrong):
            raise ValueError(
                f"rows are not sorted by {', '.join((*self.query.by, self.query.time))}: row "
                f"{self._rows + int(wrong[0])} is earlier than the one before it"
            )

    def _give(self, last: bool) -> Iterator[pa.RecordBatch]:
        end = self._ready(last)
        if end > self._done:
            begin = self._done
            bounds = {key: f.find(self, begin, end) for key, f in self._frames.items()}
            answers = [
                self._workers[out].answer(*bounds[a.frame])
                for out, a in self.query.aggregations.items()
            ]
            self._done = end
            self._forget(bounds)
            yield from self._with(answers, end - begin)

    def _ready(self, last: bool) -> int:
        times = self._time.values[self._done - self._time.base :]
        last_key = max(0, int(self._keys[-1]) - self._done) if len(self._keys) else 0
        counts = [f.ready(times, last_key, last) for f in self._frames.values()]
        return self._done + min(counts, default=len(times))

    def keys_from(self, row: int) -> np.ndarray:
        """The first row of each key, from that of `row` on."""
        return self._keys[max(0, int(np.searchsorted(self._keys, row, "right")) - 1) :]

    def _forget(self, bounds: dict[Any, Any]) -> None:
        oldest = min((int(lo[-1]) for lo, _ in bounds.values()), default=self._done)
        oldest = min(oldest, self._done - 1)
        self._time.forget(oldest)
        self._keys = self.keys_from(self._done).copy()
        for frame in self._frames.values():
            frame.forget(oldest)
        for out, a in self.query.aggregations.items():
            self._workers[out].forget(min(int(bounds[a.frame][0][-1]), self._done))

    def _with(self, answers: list[pa.Array], n: int) -> Iterator[pa.RecordBatch]:
        """The oldest n pending rows, batch by batch, with their answers."""
        given = 0
        while given < n:
            batch = self._pending.pop(0)
            part = batch.slice(0, min(n - given, batch.num_rows))
            if part.num_rows < batch.num_rows:
                self._pending.insert(0, batch.slice(part.num_rows))
            columns = [*part.columns, *(a.slice(given, part.num_rows) for a in answers)]
            names = [*part.schema.names, *self.query.aggregations]
            yield pa.RecordBatch.from_arrays(columns, names=names)
            given += part.num_rows


class FrameAtWork:
    """A frame's finder, and the column that it reads besides the time."""

    def __init__(self, frame: Frame, dtype: np.dtype, unit: int | None, schema: pa.Schema) -> None:
        self._frame = frame
        self._content: Tape | None = None
        if isinstance(frame, Delta):
            kind = number_type(schema.field(frame.column).type)
            dtype = np.dtype(np.float64 if kind is not None and kind.kind == "f" else np.int64)
            unit = unit_of(schema.field(frame.column).type)
            self._content = Tape(dtype)
        elif isinstance(frame, Until):
            self._content = Tape(np.int8)
        self._finder = Finder(frame, dtype, unit)

    def take(self, columns: dict[str, pa.Array]) -> None:
        if isinstance(self._frame, Delta) and self._content is not None:
            column = columns[self._frame.column]
            if column.null_count:
                raise ValueError(f"delta: {self._frame.column!r} has nulls: drop those rows")
            self._content.add(numbers(column))
        elif isinstance(self._frame, Until) and self._content is not None:
            self._content.add(_ends(self._frame, columns))

    def ready(self, times: np.ndarray, last_key: int, last: bool) -> int:
        return ready_rows(self._frame, self._finder._pass, times, last_key, last)

    def find(self, stream: Stream, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        keys, stop = stream.keys_from(begin), stream._rows
        time, ends = stream._time, None
        if isinstance(self._frame, Delta) and self._content is not None:
            time = self._content
        elif self._content is not None:
            ends = self._content.values[begin - self._content.base :]
        return self._finder.find(time, keys, ends, begin, end, stop)

    def forget(self, row: int) -> None:
        if self._content is not None:
            self._content.forget(row)


def _ends(frame: Until, columns: dict[str, pa.Array]) -> np.ndarray:
    assert frame.column is not None
    column = columns[frame.column]
    if frame.predicate is None:
        return np.asarray(pc.fill_null(column, False)).astype(np.int8)
    return np.array([bool(frame.predicate(x)) for x in column.to_pylist()], np.int8)


def _alike(a: pa.Array, b: pa.Array) -> bool:
    x, y = a[0].as_py(), b[0].as_py()
    return bool(x == y or (x != x and y != y))


def run(query: Query, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    """The query over batches sorted by key and time."""
    stream = Stream(query, schema)
    for batch in batches:
        yield from stream.feed(batch)
    yield from stream.finish()
