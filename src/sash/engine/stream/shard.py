"""A shard: the windows of many keys on a stream, from one batch to the next.

    rows → on time? → pending, in order of time → sealed by the watermark → bulks and tails
                                                        ↓
                                    due rows → answers of each structure → rows with answers

A batch costs what arrives, falls due and leaves. It is done as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.columns import one_array, with_exact_decimals
from sash.engine.expressions import outputs
from sash.engine.order import ticks
from sash.engine.stream.current import Asked, key_map
from sash.engine.stream.emit_arrival import Arrivals
from sash.engine.stream.emit_every import FinalRowSlides, FinalWindows
from sash.engine.stream.emit_final import FinalRows
from sash.engine.stream.emit_update import ChangedValues
from sash.engine.stream.keys import another_number, renumbered
from sash.engine.stream.manifest import Manifest
from sash.engine.stream.pages import Cost, PageStore, StateError
from sash.engine.stream.sealing import BULK
from sash.engine.stream.shard_state import ShardState
from sash.engine.stream.slices import COUNT
from sash.engine.stream.sorted_keys import Collision
from sash.engine.stream.stats import Stats
from sash.engine.stream.work import Work
from sash.plan.refused import check_results

LOADED = 16 * BULK
"""Rows of a history that are taken in at a time, about."""

T = TypeVar("T")


class Step(NamedTuple):
    """The result of a batch: rows with answers, rows that came too late, and figures."""

    rows: pa.Table
    late: pa.Table
    stats: Stats


class Emission(Protocol):
    """When answers come out: what a batch does with rows in order of time."""

    def step(self, rows: pa.Table, before: float | None, now: float | None) -> pa.Table:
        """Take rows, as the watermark goes on; what comes out."""

    def take_in(self, rows: pa.Table, before: float | None, now: float) -> None:
        """Take rows that nobody asks the answers of."""


def emission(state: ShardState) -> Emission:
    """When the answers of a shard's definition come out."""
    work = state.work
    if work.changes is not None:
        return ChangedValues(state, work.changes)
    if work.sliced is not None:
        return FinalWindows(state, work.sliced)
    if work.row_slides is not None:
        return FinalRowSlides(state, work.row_slides)
    return Arrivals(state) if work.definition.kept.emit == "arrival" else FinalRows(state)


class Shard:
    """The windows of all keys of a shard; `store` and `manifest` are what was committed."""

    def __init__(self, work: Work, store: PageStore, manifest: Manifest | None) -> None:
        self.state = ShardState(work, store, manifest)
        self.definition = work.definition
        self._emission = emission(self.state)

    @property
    def manifest(self) -> Manifest:
        """The pages as they are now: whoever calls commits it with them."""
        return self.state.manifest

    @with_exact_decimals
    def step(self, rows: pa.Table, watermark: float | None, slices: pa.Table | None = None) -> Step:
        """Take a batch's rows, at a watermark; give what is now to be answered.

        Rows have the columns KEY and CHECK. `slices`: further rows, none of them late, as slices
        that `Slices.of_any_order` made. The manifest is changed in place: whoever calls
        commits it with the pages, or makes a new shard from what was committed before.
        """
        self.state.pages.cost = Cost()
        before = self.manifest.watermark
        now = _later(before, watermark)
        fresh, late = self._on_time(rows, before)
        came, found = rows.num_rows, self.definition.output.empty_table()
        if slices is not None:
            came += pc.sum(slices.column(COUNT)).as_py()
            slices = slices.drop_columns(COUNT)
        if fresh.num_rows or slices is not None or now != before:
            step = partial(self._step, slices)
            found = self._whole(step, self._in_time(fresh), before, now)
        return Step(found, late, self._stats(came, found.num_rows, late.num_rows))

    def _step(
        self, slices: pa.Table | None, rows: pa.Table, before: float | None, now: float | None
    ) -> pa.Table:
        if slices is not None:
            assert isinstance(self._emission, FinalWindows)
            self._emission.take_slices(slices)
        return self._emission.step(rows, before, now)

    @with_exact_decimals
    def load(self, rows: pa.Table, cut: float) -> None:
        """Take rows up to a time that nobody asks the answers of; the watermark is then there.

        The state becomes that of a stream that was fed the rows and whose watermark has come
        to the cut. Rows after the cut are left out. A part at a time is sealed, in order.
        """
        times = ticks(one_array(rows.column(self.definition.time)), self.definition.time)
        least = self.definition.needed_from(cut)
        rows = self._in_time(rows.filter(pa.array((times <= cut) & (times >= least))))
        times, start, take_in = self.state.times(rows), 0, self._emission.take_in
        while start < len(times):
            last = times[min(start + LOADED, len(times)) - 1]
            stop = int(np.searchsorted(times, last, "right"))  # rows of one time stay together
            part = rows.slice(start, stop - start)
            self._whole(take_in, part, self.manifest.watermark, last.item())
            start = stop
        self._whole(take_in, rows.slice(0, 0), self.manifest.watermark, cut)

    @with_exact_decimals
    def current(self, row: pa.Table) -> dict[str, Any]:
        """The answers of the key of one row, at the watermark (the youngest time, on arrival)."""
        state, leaves = self.state, self.state.forest.leaves
        now = state.manifest.watermark
        if self.definition.kept.emit == "arrival" and leaves:
            now = leaves[-1].youngest
        names = self.definition.plan.query.outputs
        if now is None:
            return dict.fromkeys(names)
        check_results(self.definition.plan.query)
        keys = key_map(renumbered(row, state.manifest.collided))
        answers = state.values.answers(Asked.now(keys, now, state.work.dtype))
        found = outputs(self.definition.plan, {}, answers)
        return {name: value[0].as_py() for name, value in zip(names, found, strict=True)}

    def measured(self, stats: Stats) -> Stats:
        """Figures of a batch, with how much is kept, which takes a look at all of the manifest."""
        return stats._replace(state_bytes=self.manifest.size, state_rows=self.manifest.rows)

    def _stats(self, came: int, out: int, late: int) -> Stats:
        cost = self.state.pages.cost
        return Stats(
            came, out, late, cost.keys, cost.rows_read, cost.partials_read,
            cost.combined, read=cost.bytes_read, written=cost.bytes_written,
            keys_forgotten=cost.forgotten,
        )  # fmt: skip

    def _on_time(self, rows: pa.Table, before: float | None) -> tuple[pa.Table, pa.Table]:
        times = ticks(one_array(rows.column(self.definition.time)), self.definition.time)
        if before is None or not (late := times <= before).any():
            return rows, rows.slice(0, 0)
        return rows.filter(pa.array(~late)), rows.filter(pa.array(late))

    def _in_time(self, rows: pa.Table) -> pa.Table:
        """Rows in order of time."""
        times = self.state.times(rows)
        if len(times) > 1 and (times[1:] < times[:-1]).any():
            rows = rows.take(pa.array(np.argsort(times, kind="stable")))
        return rows

    def _whole(
        self, work: Callable[..., T], rows: pa.Table, before: float | None, now: float | None
    ) -> T:
        """All of a batch or nothing; again if two keys turn out to have one number."""
        state = self.state
        committed = state.manifest.copy()
        while True:
            try:
                found = work(renumbered(rows, state.manifest.collided), before, now)
                state.manifest.watermark = now
                state.forget(now)
            except Collision as two:
                state.pages.undo()
                state.manifest = committed.copy()
                committed = told_apart(committed, two, state.check_of(two.id))
                state.manifest.collided = dict(committed.collided)
            except BaseException:
                state.pages.undo()
                state.manifest = committed
                raise
            else:
                state.pages.done()
                return found


def told_apart(manifest: Manifest, two: Collision, known: int | None) -> Manifest:
    """The manifest with another number for one of two keys that share one: not for the key
    that the state knows by it."""
    new = two.known if known == two.new else two.new
    pair = f"{two.id}/{new}"
    if pair in manifest.collided:
        raise StateError(f"two keys of the stream's state share the number {two.id}") from two
    changed = manifest.copy()
    changed.collided[pair] = another_number(two.id, new)
    return changed


def _later(before: float | None, watermark: float | None) -> float | None:
    """The watermark after a batch: it never goes back."""
    if before is None or watermark is None:
        return watermark if before is None else before
    return max(before, watermark)
