"""The state of a shard from batch to batch, with the windows that read it."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.compatibility import accepts, described
from sash.engine.stream.current import Values
from sash.engine.stream.forest import Forest
from sash.engine.stream.late import flush
from sash.engine.stream.manifest import Manifest
from sash.engine.stream.pages import CHECK, KEY, Pages, PageStore
from sash.engine.stream.tails import Tails
from sash.engine.stream.waiting import WAITING
from sash.engine.stream.work import Work


class ShardState:
    """The pages of a shard and the manifest that names them; the latter is changed in place."""

    def __init__(self, work: Work, store: PageStore, manifest: Manifest | None) -> None:
        self.work, self.definition = work, work.definition
        self.pages = Pages(store)
        now = described(self.definition)
        self.manifest = manifest or Manifest(now)
        self._forest: Forest | None = None
        known = self.manifest
        if accepts(self.definition, known.definition, known.complete, known.watermark):
            self.forest.rebuild()
            if not self.forest.is_commutative:
                flush(self.forest)
        self.manifest.definition = now

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

    def tails(self, name: str) -> Tails:
        """The tails that keys keep for a frame that time does not bound."""
        idle, so_far = self.definition.kept.idle, self.work.so_far.get(name)
        ends = (idle, None if so_far is None else so_far.gap)
        given = (math.inf if end is None else end for end in ends)
        return Tails(name, self.manifest, self.pages, self.definition.time, *given)

    def settled(self, now: float | None) -> float:
        """Up to which time all rows have come to the tails."""
        return -math.inf if now is None else now - self.definition.kept.ahead

    @property
    def values(self) -> Values:
        """The values of keys."""
        work = self.work
        kept = work.by_time, work.so_far, work.tails, work.rows_at
        return Values(self.definition, self.forest, *kept, self.tails)

    def times(self, rows: pa.Table) -> np.ndarray:
        """The times of rows, in ticks."""
        times = numbers(one_array(rows.column(self.definition.time)))
        return times.astype(self.work.dtype, copy=False)

    def check_of(self, number: int) -> int | None:
        """The second hash of the key that has a number in the committed state, if one has."""
        trunks = self.manifest.bulks, self.manifest.reread
        nodes = [node for trunk in trunks for node in trunk.nodes.values()]
        leaves = [page for node in nodes for page in (node.rows, *node.late)]
        leaves += [page for trunk in trunks for page in (trunk.late, trunk.waiting)]
        for page in (*leaves, *(p for pages in self.manifest.tails.values() for p in pages)):
            if page is not None:
                table = self.pages.table(page)
                ids = numbers(one_array(table.column(KEY)))
                places = np.flatnonzero(ids == number)
                if len(places):
                    return int(table.column(CHECK)[int(places[0])].as_py())
        return None

    def forget(self, now: float | None) -> None:
        """Drop what no longer counts once the watermark is there."""
        manifest, definition = self.manifest, self.definition
        for name in manifest.tails:
            if name != WAITING:  # whoever answers these rows does it
                self.tails(name).merge(self.settled(now))
        if now is None:
            return
        if definition.plan.query.every is not None:
            self.forest.evict(definition.horizon(now))
            self.reread.evict(definition.horizon(now))
            return
        if definition.kept.bulks:
            if definition.kept.ahead:
                self.forest.drop_rest(now - definition.kept.ahead)
            horizon = definition.horizon(now)
            self.forest.evict(horizon)
        else:
            horizon = now
        if not math.isinf(horizon):
            manifest.complete = max(
                horizon, -math.inf if manifest.complete is None else manifest.complete
            )
