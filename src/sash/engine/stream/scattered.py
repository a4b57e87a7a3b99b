"""Late rows, scattered over bulks: where their windows begin and end.

Of a bulk in which a window of a key begins or ends, the key's rows are needed, or blocks of them
between such ends; of other bulks that some of its windows have, its partial.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sash.engine.stream.blocks import Cuts
from sash.engine.stream.due import Due, Edges, moved
from sash.engine.stream.lookups import sortable
from sash.engine.stream.manifest import Node
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.sorted_keys import ranges, starts


class Chosen(NamedTuple):
    """Some keys of a group: their places among the group's, and the keys."""

    places: np.ndarray
    keys: KeyMap


class InRows(NamedTuple):
    """Keys whose rows are needed of a leaf: between which times, and the ends of windows there."""

    chosen: Chosen
    between: tuple[np.ndarray, np.ndarray]
    cuts: Cuts


class Run(NamedTuple):
    """Neighbouring leaves, and the keys whose partials are needed; of one leaf also those whose
    rows are."""

    first: int
    stop: int
    partials: Chosen
    rows: InRows | None = None


class Scattered:
    """The ends of the windows of late rows, in order of key and time, in leaves in order of time:
    in all leaves that have ends, and in those between them.

    `key`: of each row.
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
        # Rows at an end that is exact are all on the same side of it.
        for (least, most), after in ((left, not edges.with_left), (right, edges.with_right)):
            first = np.searchsorted(youngest, least, "left")
            counts = np.maximum(np.searchsorted(oldest, most, "right") - first, 0)
            codes = (ranges(first, counts) << 40) + np.repeat(self.key, counts)
            exact = least == most
            begin = least + (exact & after)
            end = np.where(exact, begin, most + 1)
            parts.append((codes, begin.repeat(counts), end.repeat(counts)))
        codes, least, most = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort([least, codes])
        codes = codes[order]
        first = starts(codes)
        cut, codes = np.append(first, len(codes)), codes[first]
        leaf, key = codes >> 40, codes & ((1 << 40) - 1)
        self._in_rows = InRows(
            self._chosen(key),
            (left[0][begins][key], right[1][last][key]),
            Cuts(cut[1:] - first, least[order], most[order]),
        )
        self._cut, self._pairs = cut.tolist(), _spans(leaf, len(leaves))
        number = np.arange(len(leaves))[:, None]  # leaves that windows of a key have
        having = np.searchsorted(oldest, left[0][begins], "left") <= number
        having &= number < np.searchsorted(youngest, right[1][last], "right")
        having[leaf, key] = False
        leaf, key = having.nonzero()
        self._partials, self._having = self._chosen(key), _spans(leaf, len(leaves))

    def _chosen(self, places: np.ndarray) -> Chosen:
        keys = self.due.keys
        return Chosen(places, KeyMap(keys.ids[places], keys.checks[places], None, []))

    def runs(self, first: int, stop: int) -> Iterator[Run]:
        """Leaves from one to another: those with ends one by one, and those between them."""
        place = first
        for leaf in range(first, stop):
            begin, end = self._pairs[leaf : leaf + 2]
            if begin < end:
                if place < leaf:
                    yield Run(place, leaf, self._some(place))
                yield Run(leaf, leaf + 1, self._some(leaf), self._rows(begin, end))
                place = leaf + 1
        if place < stop:
            yield Run(place, stop, self._some(place))

    def _some(self, leaf: int) -> Chosen:
        """The keys with windows that have a leaf, in which theirs do not begin or end."""
        return _part(self._partials, slice(*self._having[leaf : leaf + 2]))

    def _rows(self, begin: int, end: int) -> InRows:
        """The keys with windows that begin or end in a leaf."""
        (chosen, (least, most), cuts), here = self._in_rows, slice(begin, end)
        ends = slice(self._cut[begin], self._cut[end])
        cuts = Cuts(cuts.counts[here], cuts.least[ends], cuts.most[ends])
        return InRows(_part(chosen, here), (least[here], most[here]), cuts)


def _part(chosen: Chosen, here: slice) -> Chosen:
    keys = KeyMap(chosen.keys.ids[here], chosen.keys.checks[here], None, [])
    return Chosen(chosen.places[here], keys)


def _spans(leaf: np.ndarray, leaves: int) -> list[int]:
    """Where each leaf begins among sorted numbers of leaves, and the end."""
    found: list[int] = np.searchsorted(leaf, np.arange(leaves + 1)).tolist()
    return found
