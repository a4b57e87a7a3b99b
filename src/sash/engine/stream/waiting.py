"""Frames with rows after the current one: rows wait, with their other answers, for those rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.engine import row_windows
from sash.engine.columns import numbers, one_array
from sash.engine.rows import HELD
from sash.engine.stream.key_windows import after, by_spell, keys_of, per_key
from sash.engine.stream.pages import KEY
from sash.engine.stream.sorted_keys import starts
from sash.engine.stream.tails import LIVE, Tails
from sash.plan.plan import Plan

WAITING = "waiting"
"""The tails that have these rows."""

EMITTED = "_emitted"


@dataclass
class WaitingRows:
    """A row waits until so many rows of its key have come after it, or until its key is idle."""

    plan: Plan
    ahead: int

    def step(self, tails: Tails, rows: pa.Table, settled: float) -> pa.Table:
        """Rows with their other answers in, in order of key and time; those that are complete
        out, with the answers of these frames too. `settled`: up to when all rows have come."""
        old = tails.read(keys_of(rows))
        fresh = rows.append_column(EMITTED, pa.array(np.zeros(rows.num_rows, np.bool_)))
        table, _ = after(old, fresh)
        spelled = by_spell(tails, table)
        begins, last = per_key(spelled)
        number, counts = np.arange(table.num_rows), last - begins + 1
        ended = ~np.isin(last, per_key(table)[1])  # its key was idle after it
        enough = number <= np.repeat(np.where(ended, last, last - self.ahead), counts)
        found = self._answered(tails, spelled, enough)
        self._keep(tails, table, spelled, enough)
        forgotten = tails.merge(settled)
        if forgotten is None or not forgotten.num_rows:
            return found
        gone = forgotten.drop_columns([LIVE]).select(table.column_names)
        rest = self._answered(tails, by_spell(tails, gone), np.ones(gone.num_rows, np.bool_))
        return pa.concat_tables([found, rest])

    def _answered(self, tails: Tails, table: pa.Table, enough: np.ndarray) -> pa.Table:
        """The rows that are complete and have not come out before, with their answers."""
        held = pa.array(np.zeros(table.num_rows, np.bool_))
        table = table.append_column(HELD, held)
        work = row_windows.run(self.plan, table.to_batches(), ordered=True)
        whole = pa.Table.from_batches(list(work))
        tails.pages.cost.combined += table.num_rows * len(self.plan.states)
        due = enough & ~np.asarray(one_array(table.column(EMITTED)))
        return whole.filter(pa.array(due)).drop_columns([EMITTED, HELD])

    def _keep(self, tails: Tails, table: pa.Table, spelled: pa.Table, emitted: np.ndarray) -> None:
        """Keep the rows that wait, and those before them that their windows reach.

        Which rows have come out changes, so all that is kept of a key is written again.
        """
        held = pa.array(np.zeros(table.num_rows, np.bool_))
        first = row_windows.first_reached(self.plan, spelled.append_column(HELD, held))
        last, spell = per_key(table)[1], starts(numbers(one_array(spelled.column(KEY))))
        begins = spell[np.searchsorted(spell, last, "right") - 1]
        waits = np.maximum(begins, last - self.ahead + 1)
        live = last - np.maximum(first[waits], begins) + 1
        place = table.column_names.index(EMITTED)
        tails.write(table.set_column(place, EMITTED, pa.array(emitted)), live)
