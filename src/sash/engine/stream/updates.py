"""`emit="update"`: the keys whose values a batch changes, and their values.

A key's value is that of its windows as of the watermark. It changes when a row of the key comes,
and when time passes: a row leaves a window, or enters one that ends before the row's own time, a
session ends, a key is forgotten. So a row at time t changes the value of its key at t plus an
offset that its frame decides, and the keys that a batch concerns are found by the times of rows.

With a `lead`, values are given ahead of time too: for each key the moments up to the watermark
and the lead at which its value changes if no rows come, with the value from then on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.columns import one_array
from sash.engine.stream.bulk_rows import Rows
from sash.engine.stream.current import Asked, Values, distinct, key_map
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.forest import Forest
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.pages import CHECK, KEY
from sash.plan.reach import steps_of
from sash.windows.frames import Frame, Range, Session, Sliding


class Changes:
    """When rows change the values of their keys."""

    def __init__(self, definition: StreamDefinition, dtype: np.dtype) -> None:
        self._definition, self._dtype = definition, dtype
        self._unit = definition.plan.unit
        frames = [each.frame for each in definition.plan.frames]
        offsets = {offset for frame in frames for offset in self._offsets(frame)}
        if definition.kept.idle is not None:
            offsets.add(self._after(definition.kept.idle))
        self.offsets = sorted(offsets)
        self._sliding = [frame for frame in frames if isinstance(frame, Sliding)]

    def _after(self, length: float) -> float:
        """The first moment at which something so old is too old."""
        return length + 1 if self._dtype.kind == "i" else float(np.nextafter(length, math.inf))

    def _offsets(self, frame: Frame) -> Iterator[float]:
        if isinstance(frame, Session):
            yield self._after(steps_of(frame.gap, self._unit))
        if not isinstance(frame, Range):
            return
        if frame.preceding is not None:
            length = steps_of(frame.preceding, self._unit)
            yield self._after(length) if frame.closed in ("both", "left") else length
        if frame.following is not None:
            behind = -steps_of(frame.following, self._unit)
            behind = behind if frame.closed in ("both", "right") else self._after(behind)
            if behind > 0:
                yield behind

    def _start(self, frame: Sliding, moment: float) -> float:
        """Where the window of a moment begins."""
        size, slide, offset = (
            steps_of(bound, self._unit) for bound in (frame.size, frame.slide, frame.offset)
        )
        return offset + ((moment - offset - size) // slide + 1) * slide

    def spans(self, after: float, upto: float) -> Iterator[tuple[float, float]]:
        """Between which times, both included, rows change values after one moment and up to
        another."""
        for offset in self.offsets:
            yield after - offset, upto - offset
        for frame in self._sliding:
            first, stop = (self._start(frame, moment) for moment in (after, upto))
            if first < stop:
                yield first, stop

    def moments(self, times: np.ndarray) -> Iterator[np.ndarray]:
        """For each kind of change the moments at which rows of these times make it."""
        for offset in self.offsets:
            yield times + np.asarray(offset).astype(self._dtype)
        for frame in self._sliding:
            size, slide, offset = (
                steps_of(bound, self._unit) for bound in (frame.size, frame.slide, frame.offset)
            )
            number = np.floor_divide(times - offset, slide)  # the window leaves it at its end
            yield (offset + number * slide + size).astype(self._dtype)


class Updates:
    """The changes of one batch: `keys` before its rows are sealed, `changed` after."""

    def __init__(
        self, changes: Changes, values: Values, before: float | None, now: float, dtype: np.dtype
    ) -> None:
        self._changes, self._values, self._dtype = changes, values, dtype
        self._definition, self._lead = values.definition, values.definition.kept.lead
        self._before, self._now = before, now
        self._forest: Forest = values.forest

    def keys(self, sealed: pa.Table | None, new: list[pa.Table]) -> pa.Table:
        """The keys whose values may change, each once; `new`: some that have not come out."""
        columns = [KEY, CHECK, *self._definition.plan.query.by]
        parts = [each.select(columns) for each in (*new, *(() if sealed is None else (sealed,)))]
        if self._before is not None:
            spans = self._changes.spans(self._before + self._lead, self._now + self._lead)
            for span in spans:
                parts += [rows.table.select(columns) for rows in self._rows(None, *span)]
        if not parts:
            return self._definition.schema.empty_table().select(columns[2:])
        return distinct(pa.concat_tables(parts).combine_chunks())

    def _rows(self, keys: KeyMap | None, oldest: float, youngest: float) -> Iterator[Rows]:
        rows = self._forest.rows_between(oldest, youngest, keys)
        if rows is not None:
            yield rows

    def known(self, keys: pa.Table) -> pa.Table | None:
        """The values as they were, while the state is as it was; None: all keys are new."""
        if self._before is None or self._lead or not keys.num_rows:
            return None
        return self._table(keys, Asked.now(key_map(keys), self._before, self._dtype))

    def changed(self, keys: pa.Table, old: pa.Table | None, new: np.ndarray) -> pa.Table:
        """The values as they are now, of keys for which they are not what they were; of all
        those that are `new`."""
        if not keys.num_rows:
            return self._definition.output.empty_table()
        asked = self._asked(key_map(keys))
        found = self._table(keys, asked)
        if self._lead:
            return self._steps(found, asked.of)
        if old is None:
            return found
        differs = new.copy()
        for name in self._definition.plan.query.outputs:
            differs |= differing(old.column(name), found.column(name))
        return found.filter(pa.array(differs))

    def _asked(self, keys: KeyMap) -> Asked:
        """All keys now, and with a lead also at the moments at which their values change."""
        now = Asked.now(keys, self._now, self._dtype)
        if not self._lead:
            return now
        of, moments = [now.of], [now.moments]
        end = self._now + self._lead
        for oldest, youngest in self._changes.spans(self._now, end):
            for rows in self._rows(keys, oldest, youngest):
                place = np.searchsorted(keys.ids, rows.ids)
                for at in self._changes.moments(rows.times):
                    inside = (at > self._now) & (at <= end)
                    of.append(place[inside])
                    moments.append(at[inside])
        pairs = np.unique(np.stack([np.concatenate(of), np.concatenate(moments)]), axis=1)
        return Asked(keys, pairs[0].astype(np.int64), pairs[1].astype(self._dtype))

    def _table(self, keys: pa.Table, asked: Asked) -> pa.Table:
        by = {name: keys.column(name).take(pa.array(asked.of))
              for name in self._definition.plan.query.by}  # fmt: skip
        return self._values.table(asked, by)

    def _steps(self, found: pa.Table, of: np.ndarray) -> pa.Table:
        """Without moments at which the value of a key stays what it was just before."""
        differs = np.append(True, of[1:] != of[:-1])
        for name in self._definition.plan.query.outputs:
            column = one_array(found.column(name))
            differs[1:] |= differing(column[:-1], column[1:])
        return found.filter(pa.array(differs))


def differing(a: pa.Array | pa.ChunkedArray, b: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Where two columns of one type differ; null is null, and NaN is NaN."""
    try:
        unlike = pc.fill_null(pc.not_equal(a, b), False)
        if pa.types.is_floating(a.type):
            both = pc.and_(pc.fill_null(pc.is_nan(a), False), pc.fill_null(pc.is_nan(b), False))
            unlike = pc.and_not(unlike, both)
        unlike = pc.or_(unlike, pc.xor(a.is_null(), b.is_null()))
    except pa.ArrowNotImplementedError:  # lists and the like
        pairs = zip(a.to_pylist(), b.to_pylist(), strict=True)
        return np.array([x != y for x, y in pairs], np.bool_)
    return np.asarray(unlike.combine_chunks() if isinstance(unlike, pa.ChunkedArray) else unlike)
