"""Late rows, scattered over bulks: where their windows begin and end.

Of a bulk in which a window of a key begins or ends, or one of its rows is due, the key's rows are
needed; of other bulks that some of its windows have, its partial.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sash.engine.stream.due import Due, Edges, moved
from sash.engine.stream.lookups import sortable
from sash.engine.stream.manifest import Node
from sash.engine.stream.sorted_keys import ranges, starts


class Run(NamedTuple):
    """Neighbouring leaves: the places of the keys whose rows are needed, of one leaf, and of those
    whose partials are."""

    first: int
    stop: int
    rows: np.ndarray
    partials: np.ndarray


NO_KEYS = np.zeros(0, np.int64)


class Scattered:
    """The ends of the windows of late rows, in order of key and time, in leaves in order of time:
    in all leaves that have ends, and in those between them."""

    def __init__(self, due: Due, edges: Edges, leaves: Sequence[Node]) -> None:
        self.due, self.leaves, self.reached = due, leaves, due.reached(edges)
        times, begins = due.rows.times, starts(due.rows.ids)
        oldest, youngest = (
            sortable(np.array([getattr(leaf, name) for leaf in leaves], times.dtype))
            for name in ("oldest", "youngest")
        )
        spans = [
            (moved(times, -edges.behind), moved(times, -edges.behind_least, up=True)),
            (moved(times, edges.ahead, up=False), moved(times, edges.ahead, up=True)),
            (sortable(times), sortable(times)),
        ]
        key, pairs = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(times)))), []
        for least, most in spans:
            first = np.searchsorted(youngest, least, "left")
            counts = np.maximum(np.searchsorted(oldest, most, "right") - first, 0)
            pairs.append((ranges(first, counts) << 40) + np.repeat(key, counts))
        codes = np.unique(np.concatenate(pairs))
        self._leaf, self._key = codes >> 40, codes & ((1 << 40) - 1)
        last = np.append(begins[1:], len(times)) - 1
        self._first = np.searchsorted(oldest, spans[0][0][begins], "left")
        self._stop = np.searchsorted(youngest, spans[1][1][last], "right")

    def runs(self, first: int, stop: int) -> Iterator[Run]:
        """Leaves from one to another: those with ends one by one, and those between them."""
        begins = np.append(starts(self._leaf), len(self._leaf))
        place = first
        for i, leaf in enumerate(self._leaf[begins[:-1]].tolist()):
            if not first <= leaf < stop:
                continue
            if place < leaf:
                yield Run(place, leaf, NO_KEYS, self._having(place, NO_KEYS))
            rows = self._key[begins[i] : begins[i + 1]]
            yield Run(leaf, leaf + 1, rows, self._having(leaf, rows))
            place = leaf + 1
        if place < stop:
            yield Run(place, stop, NO_KEYS, self._having(place, NO_KEYS))

    def _having(self, leaf: int, besides: np.ndarray) -> np.ndarray:
        """The other keys with windows that may have a leaf, in which theirs do not begin or end."""
        found = (self._first <= leaf) & (leaf < self._stop)
        found[besides] = False
        places: np.ndarray = found.nonzero()[0]
        return places
