"""Late rows, scattered over bulks: where their windows begin and end.

Of a bulk in which a window of a key begins or ends, the key's rows are needed, or blocks of them
between such ends; of other bulks that some of its windows have, its partial.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sash.engine.stream.blocks import Cuts
from sash.engine.stream.due import Due, Edges, moved
from sash.engine.stream.lookups import sortable
from sash.engine.stream.manifest import Node
from sash.engine.stream.sorted_keys import ranges, starts


class Run(NamedTuple):
    """Neighbouring leaves: the places of the keys whose rows are needed, of one leaf, with the ends
    of their windows, and of those whose partials are."""

    first: int
    stop: int
    rows: np.ndarray
    partials: np.ndarray
    cuts: Cuts | None = None


NO_KEYS = np.zeros(0, np.int64)


class Scattered:
    """The ends of the windows of late rows, in order of key and time, in leaves in order of time:
    in all leaves that have ends, and in those between them.

    `key`: of each row; `reached`: from where to where the windows of each key reach.
    """

    def __init__(self, due: Due, edges: Edges, leaves: Sequence[Node]) -> None:
        self.due, self.leaves = due, leaves
        times, begins = due.rows.times, starts(due.rows.ids)
        last = np.append(begins[1:], len(times)) - 1
        self.key = np.repeat(np.arange(len(begins)), last - begins + 1)
        oldest, youngest = (
            sortable(np.array([getattr(leaf, name) for leaf in leaves], times.dtype))
            for name in ("oldest", "youngest")
        )
        left = moved(times, -edges.behind), moved(times, -edges.behind_least, up=True)
        right = moved(times, edges.ahead, up=False), moved(times, edges.ahead, up=True)
        parts = []
        for least, most in (left, right):
            first = np.searchsorted(youngest, least, "left")
            counts = np.maximum(np.searchsorted(oldest, most, "right") - first, 0)
            codes = (ranges(first, counts) << 40) + np.repeat(self.key, counts)
            begin, after = least.repeat(counts), most.repeat(counts) + 1
            # Rows at an end may be in the window or not, as the frame says; all of one time are.
            parts.append((codes, begin, np.where(begin + 1 == after, begin, after)))
            parts.append((codes, after, after))
        codes, least, most = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort([least, codes])
        codes, self._least, self._most = codes[order], least[order], most[order]
        first = starts(codes)
        self._cut, codes = np.append(first, len(codes)), codes[first]
        self._cuts = self._cut[1:] - first
        self._leaf, self._key = codes >> 40, codes & ((1 << 40) - 1)
        self.reached = left[0][begins], right[1][last]
        self._first = np.searchsorted(oldest, self.reached[0], "left")
        self._stop = np.searchsorted(youngest, self.reached[1], "right")

    def runs(self, first: int, stop: int) -> Iterator[Run]:
        """Leaves from one to another: those with ends one by one, and those between them."""
        begins = np.append(starts(self._leaf), len(self._leaf)).tolist()
        place = first
        for begin, end in itertools.pairwise(begins):
            leaf = int(self._leaf[begin])
            if not first <= leaf < stop:
                continue
            if place < leaf:
                yield Run(place, leaf, NO_KEYS, self._having(place, NO_KEYS))
            rows = self._key[begin:end]
            yield Run(leaf, leaf + 1, rows, self._having(leaf, rows), self._cuts_of(begin, end))
            place = leaf + 1
        if place < stop:
            yield Run(place, stop, NO_KEYS, self._having(place, NO_KEYS))

    def _cuts_of(self, begin: int, end: int) -> Cuts:
        """The ends of windows in a leaf, by key."""
        here = slice(self._cut[begin], self._cut[end])
        return Cuts(self._cuts[begin:end], self._least[here], self._most[here])

    def _having(self, leaf: int, besides: np.ndarray) -> np.ndarray:
        """The other keys with windows that may have a leaf, in which theirs do not begin or end."""
        found = (self._first <= leaf) & (leaf < self._stop)
        found[besides] = False
        places: np.ndarray = found.nonzero()[0]
        return places
