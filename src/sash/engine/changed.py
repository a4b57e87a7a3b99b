"""Windows whose answers differ from those of the window before, as CQL's IStream gives them.

A window without one just before it, because its key had no rows then, comes out too.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.columns import changes, numbers, one_array
from sash.plan.periodic import KIND
from sash.plan.plan import Plan
from sash.plan.reach import steps_of
from sash.windows.frames import Sliding, SlidingCalendar


class ChangedWindows:
    """Takes answers of `every`, the windows of a key in order; gives those that changed."""

    def __init__(self, plan: Plan) -> None:
        every = plan.query.every
        assert every is not None
        self._query, self._unit = plan.query, plan.unit
        self._kinds = {str(kind): kind for kind in every.kinds}
        self._last: dict[str, pa.Table] = {}

    def of(self, answers: pa.Table) -> pa.Table:
        """The windows that changed, of those that were not taken before."""
        if KIND not in self._query.window:
            return self._of_kind(next(iter(self._kinds)), answers)
        column = answers.column(KIND)
        parts = [self._of_kind(n, answers.filter(pc.equal(column, n))) for n in self._kinds]
        return pa.concat_tables(parts)

    def _of_kind(self, name: str, answers: pa.Table) -> pa.Table:
        if not answers.num_rows:
            return answers
        last = self._last.get(name)
        whole = answers if last is None else pa.concat_tables([last, answers])
        self._last[name] = answers.slice(answers.num_rows - 1)
        kept = self._changed(name, whole)
        return answers.filter(pa.array(kept if last is None else kept[1:]))

    def _changed(self, name: str, answers: pa.Table) -> np.ndarray:
        first = np.ones(min(1, answers.num_rows), np.bool_)
        other = changes([one_array(answers.column(key)) for key in self._query.by])
        other = other if self._query.by else np.zeros(answers.num_rows - 1, np.bool_)
        for out in self._query.outputs:
            other = other | _differ(one_array(answers.column(out)))
        return np.concatenate([first, other | self._after_gap(name, answers)])

    def _after_gap(self, name: str, answers: pa.Table) -> np.ndarray:
        """Whether a window does not follow the one before it at once."""
        kind = self._kinds[name]
        starts, ends = (numbers(one_array(answers.column(c))) for c in self._query.window[-2:])
        if isinstance(kind, SlidingCalendar):
            return starts[1:] != ends[:-1]
        if not isinstance(kind, Sliding):  # so many rows: one follows the other
            return np.zeros(len(starts) - 1, np.bool_)
        return starts[1:] - starts[:-1] != steps_of(kind.slide, self._unit)


def _differ(column: pa.Array) -> np.ndarray:
    """Whether each answer but the first differs from the one before it."""
    if not pa.types.is_nested(column.type):
        return changes([column])
    values = column.to_pylist()
    pairs = pairwise(values)
    return np.fromiter((a != b for a, b in pairs), np.bool_, max(0, len(values) - 1))
