"""Late rows into the tree: those of all bulks in one pass, and of the nodes above what changes.

When    at once where the order of rows matters. Otherwise they wait in a page beside the tree,
        and go into it when they are many.
Cost    per late row its key's partial in its bulk and in each node above: as in FiBA, nodes
        between the row and the end of the tree, O(log d) for a distance of d bulks. Where the
        order of rows matters, also blocks of its key's rows in the bulk.
How     where the order of rows does not matter, a changed node's partial of a key is its partial so
        far and the late rows below it. Otherwise it is combined from the bulks that have changed
        and from the nodes beside the paths above them, which have not. These are looked up
        once, and all levels are folded in one pass.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sash.engine.stream.blocks import Cuts
from sash.engine.stream.buffer import number_of
from sash.engine.stream.buffering import BATCHES, buffer_partials, buffer_rows
from sash.engine.stream.bulk_rows import Rows, in_order, joined, taken
from sash.engine.stream.forest import Forest
from sash.engine.stream.items import Items
from sash.engine.stream.lookups import merged_order
from sash.engine.stream.manifest import Node
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.sorted_keys import order_of, ranges, starts, unique

WAITING = 1024
"""So many late rows are in no bulk, or those of `BATCHES`."""

Marks = dict[tuple[int, int], np.ndarray]
"""Which keys change of each node."""

NONE = np.zeros(0, np.int64)


class Changed(NamedTuple):
    """Partials that have changed: the numbers of their nodes, their keys, their items."""

    nodes: np.ndarray
    keys: np.ndarray
    items: list[Items]


def add(forest: Forest, leaves: Sequence[Node], rows: Rows, of: np.ndarray) -> None:
    """Take late rows in order of key and time; `leaves`: the bulks that have their times, `of`:
    that of each row.

    Where the order of rows does not matter, they wait until they are many: whoever answers reads
    those of its keys beside the tree."""
    if not forest.is_commutative:
        insert(forest, leaves, taken(rows, np.argsort(of, kind="stable")))
        return
    limit = max(WAITING, BATCHES * len(rows))
    for wanted in forest.rows.waiting(None):
        known = wanted.pages[0]
        rows = joined([known, rows])
        ids = rows.ids
        rows = taken(rows, merged_order(ids, ids, rows.times, len(known)))
    forest.rows.wait(rows)
    if len(rows) > limit:
        flush(forest)


def flush(forest: Forest) -> None:
    """Put the late rows that wait into the bulks that have their times."""
    for wanted in forest.rows.waiting(None):
        rows = wanted.pages[0]
        ends = np.array([leaf.youngest for leaf in forest.leaves], rows.times.dtype)
        places = np.searchsorted(ends, rows.times, "left")
        rows = taken(rows, np.argsort(places, kind="stable"))
        forest.rows.wait(None)
        insert(forest, [forest.leaves[i] for i in np.unique(places).tolist()], rows)


def insert(forest: Forest, leaves: Sequence[Node], rows: Rows) -> None:
    """Add late rows to the bulks that have their times, sorted by bulk, key and time."""
    of = _bulks_of(leaves, rows)
    order = order_of(rows.ids)
    every = KeyMap(*unique(rows.ids[order], rows.checks[order]), None, [])
    pairs = (of << 40) + np.searchsorted(every.ids, rows.ids)
    pairs = pairs[starts(pairs)]
    places, counts = pairs & ((1 << 40) - 1), np.bincount(pairs >> 40)
    buffer_rows(forest, leaves, rows, of)
    leaves = [forest.trunk.nodes[leaf.level, leaf.index] for leaf in leaves]
    marks = _marks(forest, leaves, np.split(places, np.cumsum(counts)[:-1]), len(every.ids))
    if forest.is_commutative:
        parts = [_known_and_late(forest, marks, every, rows, of, _paths(leaves, marks))]
    else:
        numbers = np.repeat([number_of(leaf) for leaf in leaves], counts)
        keys = KeyMap(every.ids[places], every.checks[places], None, [])
        ends = np.append(0, np.cumsum(counts)).tolist()
        each = [keys.slice(first, stop) for first, stop in itertools.pairwise(ends)]
        bulks = Changed(numbers, places, _bulk_partials(forest, leaves, each))
        first = np.repeat([leaf.first for leaf in leaves], counts)
        parts = [bulks, *_above(forest, marks, first, bulks, every)]
    changed = np.concatenate([part.keys for part in parts])
    items = [Items.concat(each) for each in zip(*(part.items for part in parts), strict=True)]
    made = KeyMap(every.ids[changed], every.checks[changed], None, items)
    buffer_partials(forest, np.concatenate([part.nodes for part in parts]), made)


def _bulk_partials(forest: Forest, leaves: Sequence[Node], keys: Sequence[KeyMap]) -> list[Items]:
    """The partials of keys in bulks, bulk by bulk, from their rows, late ones among them."""
    asked = [
        forest.rows.wanted(leaf, wanted, cuts=Cuts(np.zeros(len(wanted.ids), np.int64), NONE, NONE))
        for leaf, wanted in zip(leaves, keys, strict=True)
    ]
    found = forest.rows.read(asked, [])
    codes = (found.of << 40) + found.key
    order = in_order(codes, found.times, found.late)
    begins = np.append(starts(codes[order]), len(order))
    items = [forest.rows.found_items(i, found) for i in range(len(forest.states))]
    places = order if found.folded is None else found.folded.places[order]
    return _folded(forest, places, begins, items)


def _known_and_late(
    forest: Forest,
    marks: Marks,
    every: KeyMap,
    rows: Rows,
    of: np.ndarray,
    paths: list[np.ndarray],
) -> Changed:
    """The partials that change of bulks and of the nodes above them, where the order of rows does
    not matter: each is its partial so far and the late rows below it. `of`: the bulk of each."""
    nodes = [forest.trunk.nodes[place] for place in marks]
    keys = [np.flatnonzero(mark) for mark in marks.values()]
    asked = [KeyMap(every.ids[each], every.checks[each], None, []) for each in keys]
    layers = [forest.layers(node) for node in nodes]
    found, known = forest.partials(list(zip(layers, asked, strict=True)))
    shift = np.cumsum([0] + [len(each) for each in keys])[:-1]
    codes = (found.of << 40) + np.concatenate(keys)[shift[found.of] + found.key]
    lengths = np.array([len(path) for path in paths])
    each = np.repeat(np.arange(len(of)), lengths[of])  # a late row for each node above it
    path = np.concatenate(paths)[ranges((np.cumsum(lengths) - lengths)[of], lengths[of])]
    codes = np.append(codes, (path << 40) + np.searchsorted(every.ids, rows.ids)[each])
    order = np.argsort(codes, kind="stable")
    begins = starts(codes[order])
    late = [forest.rows.items(i, rows).take(each) for i in range(len(forest.states))]
    items = [Items.concat(both) for both in zip(known.items, late, strict=True)]
    made = _folded(forest, order, np.append(begins, len(order)), items)
    groups = codes[order][begins]
    numbers = np.array([number_of(node) for node in nodes])
    return Changed(numbers[groups >> 40], groups & ((1 << 40) - 1), made)


def _paths(leaves: Sequence[Node], marks: Marks) -> list[np.ndarray]:
    """For each bulk which of the marked nodes it and those above it are."""
    number, found = {place: i for i, place in enumerate(marks)}, []
    for leaf in leaves:
        level, index, path = leaf.level, leaf.index, []
        while (level, index) in number:
            path.append(number[level, index])
            level, index = level + 1, index >> 1
        found.append(np.array(path))
    return found


def _bulks_of(leaves: Sequence[Node], rows: Rows) -> np.ndarray:
    """Which of the bulks, in order of time, each row is of."""
    ends = np.array([leaf.youngest for leaf in leaves], rows.times.dtype)
    return np.searchsorted(ends, rows.times, "left")


def _folded(
    forest: Forest, order: np.ndarray, begins: np.ndarray, items: list[Items]
) -> list[Items]:
    """Items in an order, one for each group of them."""
    forest.pages.cost.combined += len(order) * len(forest.states)
    return [s.fold(each, begins, order) for s, each in zip(forest.states, items, strict=True)]


def _above(
    forest: Forest, marks: Marks, first: np.ndarray, bulks: Changed, every: KeyMap
) -> list[Changed]:
    """The partials that change of the nodes above bulks. `first`: where each one's bulk is."""
    asked, begins, keys = [], [], []
    for (level, index), mark in marks.items():
        beside = forest.trunk.nodes.get((level, index ^ 1))
        if (level + 1, index >> 1) not in marks or beside is None:
            continue
        known = marks.get((level, index ^ 1))
        which = np.flatnonzero(mark if known is None else mark & ~known)
        if len(which):
            wanted = KeyMap(every.ids[which], every.checks[which], None, [])
            asked.append((forest.layers(beside), wanted))
            begins.append(beside.first)
            keys.append(which)
    items, codes = bulks.items, (bulks.keys << 40) + first
    if asked:
        found, made = forest.partials(asked)
        shift = np.cumsum([0] + [len(each) for each in keys])[:-1]
        kept = np.concatenate(keys)[shift[found.of] + found.key]
        codes = np.append(codes, (kept << 40) + np.array(begins)[found.of])
        items = [Items.concat(each) for each in zip(items, made.items, strict=True)]
    nodes = ((forest.trunk.nodes[place], mark) for place, mark in marks.items())
    upper = [(node, np.flatnonzero(mark)) for node, mark in nodes if node.rows is None]
    if not upper:
        return []
    order = np.argsort(codes, kind="stable")
    counts = [len(mark) for _, mark in upper]
    which = np.concatenate([mark for _, mark in upper])
    lo, hi = (
        np.searchsorted(codes[order], (which << 40) + np.repeat(ends, counts))
        for ends in ([n.first for n, _ in upper], [n.stop for n, _ in upper])
    )
    groups = np.append(0, np.cumsum(hi - lo))
    folded = _folded(forest, order[ranges(lo, hi - lo)], groups, items)
    return [Changed(np.repeat([number_of(n) for n, _ in upper], counts), which, folded)]


def _marks(
    forest: Forest, leaves: Sequence[Node], places: Sequence[np.ndarray], keys: int
) -> Marks:
    """Which of the keys change of each node: of the bulks, by their places, and of all above."""
    marks: Marks = {}
    for leaf, changed in zip(leaves, places, strict=True):
        mark = np.zeros(keys, np.bool_)
        mark[changed] = True
        level, index = leaf.level, leaf.index
        while (level, index) in forest.trunk.nodes:
            known = marks.get((level, index))
            marks[level, index] = mark if known is None else known | mark
            level, index = level + 1, index >> 1
    return marks
