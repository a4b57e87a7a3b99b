"""A shard: the windows of many keys on a stream, from one batch to the next.

    rows → on time? → pending, in order of time → sealed by the watermark → bulks and tails
                                                        ↓
                                    due rows → answers of each structure → rows with answers

What the watermark has passed can no longer change: it is sealed as bulks, in order, and read
again only where windows begin and end. So a batch costs what arrives, falls due and leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine import row_windows
from sash.engine.changed import ChangedWindows
from sash.engine.columns import numbers, one_array, with_exact_decimals
from sash.engine.expressions import outputs
from sash.engine.order import tick_type, ticks
from sash.engine.rows import HELD
from sash.engine.stream.current import Asked, Values, distinct, key_map, named
from sash.engine.stream.definition import Stats, StreamDefinition
from sash.engine.stream.forest import Forest
from sash.engine.stream.key_windows import SoFarWindows, TailWindows, WaitingRows, keyed
from sash.engine.stream.keys import another_number, renumbered
from sash.engine.stream.late import insert
from sash.engine.stream.manifest import Manifest, Pending
from sash.engine.stream.maps import Collision, Rows, joined, starts, taken
from sash.engine.stream.pages import CHECK, KEY, Cost, Pages, PageStore, StateError
from sash.engine.stream.partials import PartialState
from sash.engine.stream.sliced import RereadWindows, SlicedWindows
from sash.engine.stream.tails import Tails
from sash.engine.stream.time_windows import NUMBER, Due, Edges, TimeWindows, marked
from sash.engine.stream.updates import Changes, Updates

BULK = 1 << 14
"""Rows of a bulk, about: a larger batch is cut at times into several."""

LOADED = 16 * BULK
"""Rows of a history that are taken in at a time, about."""


class Step(NamedTuple):
    """What a batch gives: rows with answers, rows that came too late, and figures."""

    rows: pa.Table
    late: pa.Table
    stats: Stats


class Work:
    """The windows of a definition, ready to answer; made once, used for every batch."""

    def __init__(self, definition: StreamDefinition) -> None:
        self.definition, plan = definition, definition.plan
        self.dtype = tick_type(plan.schema.field(definition.time).type)
        states = definition.of_structure
        self.by_time = [
            TimeWindows(frame, plan.unit, self.dtype, [self._partial(s) for s in of])
            for frame in definition.by_time
            if (of := [s for s in states.get("tree", []) if s.frame == frame.number])
        ]
        self.so_far = {
            f"so far {frame.number}": SoFarWindows(
                frame, [self._partial(s) for s in of], definition.time, plan.unit, self.dtype
            )
            for frame in plan.frames
            if (of := [s for s in states.get("so far", []) if s.frame == frame.number])
        }
        self.tails = {
            f"tail {frame.number}": TailWindows.of(plan, names)
            for frame in plan.frames
            if (names := self._names("tail", frame.number))
        }
        waiting = definition.outputs_of("waiting")
        self.waiting = WaitingRows(keyed(plan, waiting), definition.rows_ahead) if waiting else None
        rows = definition.outputs_of("rows")
        self.rows = keyed(plan, rows) if rows and plan.query.every is None else None
        every = plan.query.every is not None
        self.sliced = SlicedWindows(definition) if every else None
        self.every_row = RereadWindows(definition, rows) if every and rows else None
        self.changes = Changes(definition, self.dtype) if definition.emit == "update" else None

    def _partial(self, state: Any) -> PartialState:
        return PartialState(self.definition.plan, state, self.definition.allow_pickle)

    def _names(self, structure: Any, frame: int) -> list[str]:
        plan = self.definition.plan
        kept = {
            s.number for s in self.definition.of_structure.get(structure, []) if s.frame == frame
        }
        return [output.name for output in plan.outputs if output.state in kept]


class Shard:
    """The windows of all keys of a shard; `pages` and `manifest` are what was committed."""

    def __init__(self, work: Work, store: PageStore, manifest: Manifest | None) -> None:
        self.work, self.definition = work, work.definition
        self.pages = Pages(store)
        described = self.definition.described()
        self.manifest = manifest or Manifest(described)
        self._forest: Forest | None = None
        known = self.manifest
        if self.definition.accept(known.definition, known.complete, known.watermark):
            self.forest.rebuild()
        self.manifest.definition = described

    @property
    def forest(self) -> Forest:
        """The bulks of rows, or of slices."""
        sliced, query = self.work.sliced is not None, self.definition.plan.query
        if self._forest is None or self._forest.trunk is not self.manifest.bulks:
            self._forest = Forest(
                self.manifest.bulks, self.pages, self.definition.partials, self.definition.time,
                query.by if sliced else (), sliced,
            )  # fmt: skip
        return self._forest

    @property
    def reread(self) -> Forest:
        """With `every`, the bulks of rows that slices do not stand for."""
        return Forest(self.manifest.reread, self.pages, [], self.definition.time)

    @property
    def state_size(self) -> int:
        return self.manifest.size

    @with_exact_decimals
    def step(self, rows: pa.Table, watermark: float | None) -> Step:
        """Take a batch's rows, at a watermark; give what is now to be answered.

        Rows have the columns KEY and CHECK. The manifest is changed in place: whoever calls
        commits it with the pages, or makes a new shard from what was committed before.
        """
        self.pages.cost = Cost()
        before = self.manifest.watermark
        now = _later(before, watermark)
        fresh, late = self._on_time(rows, before)
        if not fresh.num_rows and now == before:
            return Step(self.definition.output.empty_table(), late, self._stats(rows, 0, late))
        found = self._whole(self._emit, self._in_time(fresh), before, now)
        return Step(found, late, self._stats(rows, found.num_rows, late))

    @with_exact_decimals
    def load(self, rows: pa.Table, cut: float) -> None:
        """Take rows up to a time that nobody asks the answers of; the watermark is then there.

        The state becomes that of a stream that was fed the rows and whose watermark has come
        to the cut. Rows after the cut are left out. A part at a time is sealed, in order.
        """
        times = ticks(one_array(rows.column(self.definition.time)), self.definition.time)
        least = self.definition.needed_from(cut)
        chosen = (times <= cut) & (times >= least)
        rows = self._in_time(rows.filter(pa.array(chosen)))
        times, start = self._times(rows), 0
        while start < len(times):
            last = times[min(start + LOADED, len(times)) - 1]
            stop = int(np.searchsorted(times, last, "right"))  # rows of one time stay together
            part = rows.slice(start, stop - start)
            self._whole(self._take_in, part, self.manifest.watermark, last.item())
            start = stop
        self._whole(self._take_in, rows.slice(0, 0), self.manifest.watermark, cut)

    def _whole(
        self, work: Callable[..., pa.Table], rows: pa.Table, before: float | None, now: float | None
    ) -> pa.Table:
        """All of a batch or nothing; again if two keys turn out to have one number."""
        committed = self.manifest.copy()
        while True:
            try:
                found = work(renumbered(rows, self.manifest.collided), before, now)
                self.manifest.watermark = now
                self._upkeep(now)
            except Collision as two:
                self.pages.undo()
                self.manifest = committed.copy()
                committed = told_apart(committed, two, self._known(two.id))
                self.manifest.collided = dict(committed.collided)
            except BaseException:
                self.pages.undo()
                self.manifest = committed
                raise
            else:
                self.pages.done()
                return found

    def _stats(self, rows: pa.Table, out: int, late: pa.Table) -> Stats:
        cost = self.pages.cost
        return Stats(
            rows.num_rows, out, late.num_rows, cost.keys, cost.rows_read, cost.partials_read,
            cost.combined, read=cost.bytes_read, written=cost.bytes_written,
        )  # fmt: skip

    def measured(self, stats: Stats) -> Stats:
        """Figures of a batch, with how much is kept, which takes a look at all of the manifest."""
        return stats._replace(state_bytes=self.manifest.size, state_rows=self.manifest.rows)

    def _known(self, number: int) -> int | None:
        """The second hash of the key that has a number in the committed state, if one has."""
        trunks = self.manifest.bulks, self.manifest.reread
        nodes = [node for trunk in trunks for node in trunk.nodes.values()]
        leaves = [page for node in nodes for page in (node.rows, *node.late)]
        leaves += [trunk.late for trunk in trunks]
        for page in (*leaves, *(p for pages in self.manifest.tails.values() for p in pages)):
            if page is not None:
                table = self.pages.table(page)
                ids = numbers(one_array(table.column(KEY)))
                places = np.flatnonzero(ids == number)
                if len(places):
                    return int(table.column(CHECK)[int(places[0])].as_py())
        return None

    # What comes in.

    def _on_time(self, rows: pa.Table, before: float | None) -> tuple[pa.Table, pa.Table]:
        times = ticks(one_array(rows.column(self.definition.time)), self.definition.time)
        if before is None or not (late := times <= before).any():
            return rows, rows.slice(0, 0)
        return rows.filter(pa.array(~late)), rows.filter(pa.array(late))

    def _in_time(self, rows: pa.Table) -> pa.Table:
        """Rows in order of time."""
        times = self._times(rows)
        if len(times) > 1 and (times[1:] < times[:-1]).any():
            rows = rows.take(pa.array(np.argsort(times, kind="stable")))
        return rows

    def _times(self, rows: pa.Table) -> np.ndarray:
        return numbers(one_array(rows.column(self.definition.time))).astype(
            self.work.dtype, copy=False
        )

    @property
    def _emit(self) -> Callable[..., pa.Table]:
        """What a batch does, by when rows are answered."""
        if self.definition.emit == "update":
            return self._updated
        return self._at_once if self.definition.emit == "arrival" else self._final

    # emit="final".

    def _final(self, rows: pa.Table, before: float | None, now: float | None) -> pa.Table:
        due = self._passed(rows, before, now)
        if self.work.sliced is not None and now is not None and now != before:
            return self._windows(self.work.sliced, before, now)
        return self.definition.output.empty_table() if due is None else self._answers(due)

    def _passed(self, rows: pa.Table, before: float | None, now: float | None) -> pa.Table | None:
        """Seal the rows that the watermark has passed; those that are due, in order of key
        and time. With `every`, windows are due and no rows."""
        sliced = self.work.sliced
        sealed = self._sealed(rows, now if sliced is None else sliced.edge(now))
        if now is None or now == before:
            return None
        if sealed is not None:
            (self._seal if sliced is None else self._slice)(sealed)
        if sliced is not None:
            return None
        return self._due(before, now) if self.definition.ahead else sealed

    def _take_in(self, rows: pa.Table, before: float | None, now: float) -> pa.Table:
        """Rows that have come and gone: what they leave behind, without their answers."""
        nothing = self.definition.output.empty_table()
        if self.definition.emit == "arrival":
            if rows.num_rows:
                number = self.manifest.arrived
                self._inserted(self._numbered(rows), number)
            self._settle(-math.inf if before is None else before, now)
            return nothing
        due = self._passed(rows, before, now)
        if self.definition.emit == "update" and due is not None:
            keys = due.select([KEY, CHECK, *self.definition.plan.query.by])
            self.manifest.unseen.append(self.pages.add(distinct(keys)))
        if due is not None and self.work.waiting is not None:
            self._answers(due)  # rows wait with their other answers
        elif due is not None:
            self._advance(due)
        return nothing

    def _sealed(self, rows: pa.Table, now: float | None) -> pa.Table | None:
        """The rows that the watermark has passed, in order of key and time; the others wait."""
        parts, waiting = [], []
        for each in self.manifest.pending:
            table = self.pages.table(each.page)
            times = self._times(table)
            stop = each.start
            if now is not None:
                stop = int(np.searchsorted(times, now, "right"))
            if stop > each.start:
                parts.append(table.slice(each.start, stop - each.start))
                self.pages.cost.rows_read += stop - each.start
            if stop == len(times):
                self.pages.drop(each.page)
            else:
                oldest = times[max(stop, each.start)].item()
                waiting.append(Pending(each.page, max(stop, each.start), oldest, each.youngest))
        if rows.num_rows:
            times = self._times(rows)
            stop = 0 if now is None else int(np.searchsorted(times, now, "right"))
            if stop:
                parts.append(rows.slice(0, stop))
            if stop < len(times):
                page = self.pages.add(rows.slice(stop))
                waiting.append(Pending(page, 0, times[stop].item(), times[-1].item()))
        self.manifest.pending = waiting
        if not parts:
            return None
        table = renumbered(pa.concat_tables(parts).combine_chunks(), self.manifest.collided)
        ids, times = numbers(one_array(table.column(KEY))), self._times(table)
        order = by_key_and_time(ids, times)
        return table if order is None else table.take(pa.array(order))

    def _slice(self, sealed: pa.Table) -> None:
        """With `every`: add rows to the bulks of slices, and of rows that slices do not answer."""
        sliced = self.work.sliced
        if sliced is not None and sliced.states:
            made = sliced.slices(self.forest, sealed)
            self.forest.prove(self.forest.rows_of(made))
            for chosen in cut(self._times(made), BULK):
                self.forest.append(made if chosen is None else made.filter(pa.array(chosen)))
        if self.work.every_row is not None:
            rows = sealed.select([KEY, CHECK, *self.definition.needed])
            for chosen in cut(self._times(rows), BULK):
                self.reread.append(rows if chosen is None else rows.filter(pa.array(chosen)))

    def _windows(self, sliced: SlicedWindows, before: float | None, now: float) -> pa.Table:
        """With `every`: the windows that the watermark has passed."""
        parts, since = [], before
        if before is not None and self.definition.steps_back:
            since = before - self.definition.steps_back  # the windows before these, once more
        if sliced.states:
            parts.append(sliced.answer(self.forest, since, now))
        if self.work.every_row is not None:
            parts.append(self.work.every_row.answer(self.reread, since, now))
        if parts[0] is None:
            return self.definition.output.empty_table()
        columns = {name: each.column(name) for each in parts for name in each.column_names}  # type: ignore[union-attr]
        found = self.definition.as_output(columns)
        if not self.definition.steps_back:
            return found
        found = ChangedWindows(self.definition.plan).of(found)
        ends = numbers(one_array(found.column("window_end")))
        return found if before is None else found.filter(pa.array(ends > before))

    def _seal(self, rows: pa.Table) -> None:
        """Add rows to the bulks, cut at times into bulks of a size."""
        if not self.definition.keeps_bulks:
            return
        times = self._times(rows)
        if self.definition.ahead or any(w.edges.ahead < 0 for w in self.work.by_time):
            self.forest.prove(self.forest.rows_of(rows))  # not all bulks are read for an answer
        for chosen in cut(times, BULK):
            part = rows if chosen is None else rows.filter(pa.array(chosen))
            rest = None
            if self.definition.ahead and self.definition.passthrough:
                rest = part.select(self.definition.passthrough)
            self.forest.append(part.select([KEY, CHECK, *self.definition.needed]), rest)

    def _due(self, before: float | None, now: float) -> pa.Table | None:
        """The rows of the bulks that are due now, in order of key and time."""
        ahead = self.definition.ahead
        after = -math.inf if before is None else before - ahead
        parts = []
        for leaf in self.forest.between(after, now - ahead):
            table = self.pages.table(leaf.rows)  # type: ignore[arg-type]
            times = self._times(table)
            due = (times > after) & (times <= now - ahead)
            if not due.any():  # its other columns may be gone
                continue
            if leaf.rest is not None:
                rest = self.pages.table(leaf.rest)
                for name in rest.column_names:
                    table = table.append_column(name, rest.column(name))
            parts.append(table.filter(pa.array(due)))
        if not parts:
            return None
        table = pa.concat_tables(parts).combine_chunks()
        order = by_key_and_time(numbers(one_array(table.column(KEY))), self._times(table))
        return table if order is None else table.take(pa.array(order))

    def _answers(self, due: pa.Table) -> pa.Table:
        """Due rows, in order of key and time, with their answers."""
        work, columns = self.work, {name: due.column(name) for name in due.column_names}
        rows = self.forest.rows_of(due)
        self.pages.cost.keys = len(starts(rows.ids))
        columns |= self._by_time([Due.of(rows)])
        columns |= self._reread([Due.of(rows)])
        for name, tailed in work.tails.items():
            columns |= tailed.answer(self._tails(name), due)
        for name, so_far in work.so_far.items():
            columns |= named(self.definition, so_far, so_far.answer(self._tails(name), due))
        self._advance(due)
        if work.waiting is not None:
            table = work.waiting.step(self._tails("waiting"), pa.table(columns))
            columns = {name: table.column(name) for name in table.column_names}
        return self.definition.as_output(columns)

    def _advance(self, due: pa.Table) -> None:
        """Keys' tails end with rows, in order of key and time."""
        for name, tailed in self.work.tails.items():
            tailed.advance(self._tails(name), due)
        for name, so_far in self.work.so_far.items():
            so_far.advance(self._tails(name), due)

    def _by_time(self, groups: list[Due]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for windows in self.work.by_time:
            found |= named(self.definition, windows, windows.answer(self.forest, groups))
        return found

    def _reread(self, groups: list[Due]) -> dict[str, Any]:
        """Answers that are no small partials, from all rows of the windows."""
        plan = self.work.rows
        if plan is None:
            return {}
        unit = self.definition.plan.unit
        edges = [Edges.of(frame.frame, unit) for frame in plan.frames]
        parts = []
        for due in groups:
            least = min(edge.left(due.span).least for edge in edges)
            most = max(due.span.most, *(edge.right(due.span).most for edge in edges))
            rows = self.forest.rows_between(least, most, due.keys)
            assert rows is not None  # those that are due are among them
            parts.append(self._run_rows(due, rows))
        return {o.name: pa.concat_arrays([p[o.name] for p in parts]) for o in plan.outputs}

    def _run_rows(self, due: Due, rows: Rows) -> dict[str, pa.Array]:
        assert self.work.rows is not None
        rows = taken(rows, np.lexsort([rows.times, rows.ids]))
        table = rows.table.append_column(HELD, pa.array(np.zeros(len(rows.ids), np.bool_)))
        whole = pa.Table.from_batches(
            list(row_windows.run(self.work.rows, table.to_batches(), ordered=True))
        )
        marks = pa.array(marked(due, rows))
        return {
            output.name: one_array(whole.column(output.name).filter(marks))
            for output in self.work.rows.outputs
        }

    def _tails(self, name: str) -> Tails:
        return Tails(name, self.manifest, self.pages, self.definition.time)

    # emit="arrival".

    def _at_once(self, rows: pa.Table, before: float | None, now: float | None) -> pa.Table:
        """The rows that have come, as known now."""
        found = self.definition.output.empty_table()
        if rows.num_rows:
            found = self._arrived(rows)
        if now is not None and now != before:
            self._settle(-math.inf if before is None else before, now)
        return found

    def _numbered(self, rows: pa.Table) -> pa.Table:
        """Rows with the number of each, by which those of one time are told apart."""
        number = self.manifest.arrived
        self.manifest.arrived += rows.num_rows
        return rows.append_column(NUMBER, pa.array(np.arange(number, number + rows.num_rows)))

    def _arrived(self, rows: pa.Table) -> pa.Table:
        number, rows = self.manifest.arrived, self._numbered(rows)
        groups = self._inserted(rows, number)
        due = pa.concat_tables([group.rows.table for group in groups]).combine_chunks()
        self.pages.cost.keys = len(np.unique(np.concatenate([g.keys.ids for g in groups])))
        columns: dict[str, Any] = self._by_time(groups)
        columns |= self._reread(groups)
        columns |= self._unsettled(groups)
        rest = rows.take(pa.array(numbers(one_array(due.column(NUMBER))) - number))
        columns |= {name: rest.column(name) for name in self.definition.schema.names}
        return self.definition.as_output(columns)

    def _inserted(self, rows: pa.Table, number: int) -> list[Due]:
        """Rows in order of time: late ones into the bulks that have their times, the others as
        new bulks. Gives them by bulk, in order of key and time; `number`: of the first row."""
        times = self._times(rows)
        leaves = self.forest.leaves[self.forest.since(times[0].item()) :]
        ends = np.array([leaf.youngest for leaf in leaves], self.work.dtype)
        stop = int(np.searchsorted(times, ends[-1], "right")) if leaves else 0
        places = np.searchsorted(ends, times[:stop], "left")
        columns = [KEY, CHECK, NUMBER, *self.definition.needed]
        ids = numbers(one_array(rows.column(KEY)))
        groups: list[Due] = []
        if stop:
            by_bulk = np.lexsort([times[:stop], ids[:stop], places])
            late = self.forest.rows_of(rows.select(columns).take(pa.array(by_bulk)))
            self.forest.prove(taken(late, np.argsort(late.ids, kind="stable")))
            begins = starts(places)
            spans = zip(begins, np.append(begins[1:], stop), strict=True)
            groups += [Due.of(late.slice(a, b), number, is_new=False) for a, b in spans]
            bulks = [leaves[i] for i in places[begins]]
            insert(self.forest, bulks, [due.keys for due in groups], late)
        newest = rows.slice(stop).select(columns)
        for chosen in cut(times[stop:], BULK) if stop < len(times) else ():
            part = newest if chosen is None else newest.filter(pa.array(chosen))
            order = by_key_and_time(numbers(one_array(part.column(KEY))), self._times(part))
            part = part if order is None else part.take(pa.array(order))
            groups.append(Due.of(self.forest.rows_of(part), number))
            self.forest.prove(groups[-1].rows)
            self.forest.append(part)
        return groups

    def _unsettled(self, groups: list[Due]) -> dict[str, Any]:
        """Answers from keys' tails at the watermark and all their rows since."""
        work, found = self.work, dict[str, Any]()
        if not work.tails and not work.so_far:
            return {}
        mark = -math.inf if self.manifest.watermark is None else self.manifest.watermark
        whole = Due.of(_by_key(joined([due.rows for due in groups])))
        since = self.forest.rows_between(mark, math.inf, whole.keys)
        assert since is not None
        rows = _by_key(taken(since, np.flatnonzero(since.times > mark)))
        asked = numbers(one_array(pa.concat_tables([d.rows.table for d in groups]).column(NUMBER)))
        known = numbers(one_array(rows.table.column(NUMBER)))
        place = np.argsort(known, kind="stable")
        places = pa.array(place[np.searchsorted(known[place], asked)])
        for name, tailed in work.tails.items():
            found |= tailed.answer(self._tails(name), rows.table)
        for name, so_far in work.so_far.items():
            answers = so_far.answer(self._tails(name), rows.table)
            found |= named(self.definition, so_far, answers)
        return {name: answers.take(places) for name, answers in found.items()}

    def _settle(self, before: float, now: float) -> None:
        """The watermark has passed rows: keys' tails end with them."""
        if not self.work.tails and not self.work.so_far:
            return
        rows = self.forest.rows_between(before, now)
        if rows is None:
            return
        rows = _by_key(taken(rows, np.flatnonzero((rows.times > before) & (rows.times <= now))))
        if not len(rows.ids):
            return
        self._advance(rows.table)

    # emit="update", and one key now.

    def _updated(self, rows: pa.Table, before: float | None, now: float | None) -> pa.Table:
        """The values of the keys for which they have changed, as of the watermark."""
        sealed = self._sealed(rows, now)
        if now is None or now == before:
            return self.definition.output.empty_table()
        assert self.work.changes is not None
        updates = Updates(self.work.changes, self.values, before, now, self.work.dtype)
        new = [self.pages.table(page) for page in self.manifest.unseen]
        keys = updates.keys(sealed, new)
        old = updates.known(keys)
        if sealed is not None:
            self._seal(sealed)
            self._advance(sealed)
        self.pages.drop(*self.manifest.unseen)
        self.manifest.unseen = []
        self.pages.cost.keys = keys.num_rows
        is_new = np.zeros(keys.num_rows, np.bool_)
        for each in new:
            is_new |= np.isin(keys.column(KEY), each.column(KEY))
        return updates.changed(keys, old, is_new)

    @property
    def values(self) -> Values:
        """What keys' values are."""
        work = self.work
        kept = work.by_time, work.so_far, work.tails, work.rows
        return Values(self.definition, self.forest, *kept, self._tails)

    @with_exact_decimals
    def current(self, row: pa.Table) -> dict[str, Any]:
        """The answers of the key of one row, at the watermark (the youngest time, on arrival)."""
        manifest, leaves = self.manifest, self.forest.leaves
        now = manifest.watermark
        if self.definition.emit == "arrival" and leaves:
            now = leaves[-1].youngest
        names = self.definition.plan.query.outputs
        if now is None:
            return dict.fromkeys(names)
        self.definition.check_results()
        keys = key_map(renumbered(row, manifest.collided))
        answers = self.values.answers(Asked.now(keys, now, self.work.dtype))
        found = outputs(self.definition.plan, {}, answers)
        return {name: value[0].as_py() for name, value in zip(names, found, strict=True)}

    # What no longer counts.

    def _upkeep(self, now: float | None) -> None:
        manifest, definition = self.manifest, self.definition
        for name in manifest.tails:
            self._tails(name).merge(self._gone(name, now))
        if now is None:
            return
        if definition.plan.query.every is not None:
            self.forest.evict(definition.horizon(now))
            self.reread.evict(definition.horizon(now))
            return
        if definition.keeps_bulks:
            self.forest.drop_rest(now - definition.ahead)
            horizon = definition.horizon(now)
            self.forest.evict(horizon)
        else:
            horizon = now
        if not math.isinf(horizon):
            manifest.complete = max(
                horizon, -math.inf if manifest.complete is None else manifest.complete
            )

    def _gone(self, name: str, now: float | None) -> Any:
        """Which keys of a structure can be forgotten, by the times of their last rows."""
        if now is None:
            return None
        settled = now - self.definition.ahead  # later rows are still to come to the tails
        edge = -math.inf if self.definition.idle is None else settled - self.definition.idle
        so_far = self.work.so_far.get(name)
        if so_far is not None and so_far.gap is not None:
            edge = max(edge, settled - so_far.gap)
        return None if math.isinf(edge) else lambda times: times < edge


def told_apart(manifest: Manifest, two: Collision, known: int | None) -> Manifest:
    """The manifest with another number for one of two keys that share one: not for the key
    that the state knows by it."""
    new = two.known if known == two.new else two.new
    pair = f"{two.id}/{new}"
    if pair in manifest.collided:
        raise StateError(f"two keys of the stream's state share the number {two.id}")
    changed = manifest.copy()
    changed.collided[pair] = another_number(two.id, new)
    return changed


def _later(before: float | None, watermark: float | None) -> float | None:
    """The watermark after a batch: it never goes back."""
    if before is None or watermark is None:
        return watermark if before is None else before
    return max(before, watermark)


def by_key_and_time(ids: np.ndarray, times: np.ndarray) -> np.ndarray | None:
    """The order that sorts rows by key and time, ties as they come; None: they are sorted."""
    in_time = not (times[1:] < times[:-1]).any()
    if in_time:
        if not (ids[1:] < ids[:-1]).any():
            return None
        return np.argsort(ids, kind="stable")
    same = ids[1:] == ids[:-1]
    if not ((ids[1:] < ids[:-1]) | (same & (times[1:] < times[:-1]))).any():
        return None
    return np.lexsort([times, ids])


def cut(times: np.ndarray, rows: int) -> Iterator[np.ndarray | None]:
    """Which rows go into each bulk; None: all. Rows of one time stay together."""
    if len(times) <= 2 * rows:
        yield None
        return
    ordered = np.sort(times)
    edges = np.unique(ordered[rows::rows])
    bulk = np.searchsorted(edges, times, "left")
    for i in np.unique(bulk):
        yield bulk == i


def _by_key(rows: Rows) -> Rows:
    return taken(rows, np.lexsort([rows.times, rows.ids]))
