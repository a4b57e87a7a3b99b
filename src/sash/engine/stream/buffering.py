"""Buffers in front of a tree: filled by late rows, and emptied into the pages of nodes.

When a buffer is full, what is in it goes into the nodes' own pages, first that of nodes which late
rows no longer reach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sash.engine.stream.buffer import Buffer, number_of, place_of
from sash.engine.stream.bulk_rows import Rows, joined, taken
from sash.engine.stream.forest import Forest
from sash.engine.stream.lookups import merged_order
from sash.engine.stream.manifest import Node
from sash.engine.stream.maps import KeyMap, overlaid
from sash.engine.stream.sorted_keys import starts

BUFFERED = 1024
"""So many rows or partials wait in a buffer, or those of `BATCHES`."""

BATCHES = 8

LATE_PAGES = 8
"""So many pages of late rows, and a leaf is written again as one."""

Place = tuple[int, int]


def buffer_rows(forest: Forest, leaves: Sequence[Node], rows: Rows, of: np.ndarray) -> None:
    """Have late rows, in order of leaf, wait in the buffer."""
    nodes = np.array([number_of(leaf) for leaf in leaves])[of]
    begins = starts(of)
    for leaf, oldest in zip(leaves, np.minimum.reduceat(rows.times, begins).tolist(), strict=True):
        _lower(forest, leaf, oldest)
    known, limit = forest.buffers.late_rows, max(BUFFERED, BATCHES * len(nodes))
    if known is not None:
        alive = _alive(forest, known)
        rows = joined([taken(known.all, alive), rows])
        nodes = np.append(known.nodes[alive], nodes)
        order = merged_order(nodes, rows.ids, rows.times, len(alive))
        rows, nodes = taken(rows, order), nodes[order]
    touched = {number_of(leaf) for leaf in leaves}
    buffer = Buffer.of(nodes, rows)
    kept = _spilled(buffer, limit, touched, lambda *late: _late_page(forest, *late))
    if len(kept) < len(nodes):
        buffer = Buffer.of(nodes[kept], taken(rows, kept))
    forest.buffers.wait_rows(buffer)


def _lower(forest: Forest, leaf: Node, oldest: float) -> None:
    """Let a leaf and the nodes above it begin no later than a time."""
    above = forest.trunk.nodes.get((leaf.level, leaf.index))
    while above is not None and above.oldest > oldest:
        forest.set(replace(above, oldest=oldest))
        above = forest.trunk.nodes.get((above.level + 1, above.index >> 1))


def buffer_partials(forest: Forest, nodes: np.ndarray, changed: KeyMap) -> None:
    """Have partials that have changed wait in the buffer; the newest of a node and key counts."""
    known, limit = forest.buffers.changed, max(BUFFERED, BATCHES * len(nodes))
    order = np.lexsort([changed.ids, nodes])
    changed, nodes = changed.take(order), nodes[order]
    touched = set(nodes[starts(nodes)].tolist())
    if known is not None:
        alive = _alive(forest, known)
        waiting = known.all if len(alive) == len(known.nodes) else known.all.take(alive)
        changed = KeyMap.concat([waiting, changed])
        nodes = np.append(known.nodes[alive], nodes)
        order = merged_order(nodes, changed.ids, changed.ids, len(alive))
        ids, of = changed.ids[order], nodes[order]
        order = order[np.append((ids[1:] != ids[:-1]) | (of[1:] != of[:-1]), True)]
        changed, nodes = changed.take(order), nodes[order]
    buffer = Buffer.of(nodes, changed)
    kept = _spilled(buffer, limit, touched, lambda *late: _patch(forest, *late))
    if len(kept) < len(nodes):
        buffer = Buffer.of(nodes[kept], changed.take(kept))
    forest.buffers.wait_partials(buffer)


def _alive(forest: Forest, buffer: Buffer[Any]) -> np.ndarray:
    """The places of a buffer whose nodes are still there."""
    there = [span for n, span in buffer.places.items() if place_of(n) in forest.trunk.nodes]
    if len(there) == len(buffer.places):
        return np.arange(len(buffer.nodes))
    return np.concatenate([np.arange(*span) for span in there] or [np.zeros(0, np.int64)])


def _spilled(
    buffer: Buffer[Any], limit: int, touched: set[int], into: Callable[[Place, Any], None]
) -> np.ndarray:
    """Move what does not fit the limit into the nodes' own pages; first of nodes that this batch
    does not touch, then of all. Gives the places of what stays."""
    stays, waiting = set(buffer.places), len(buffer.nodes)
    for going in (stays - touched, touched):
        if waiting <= limit:
            break
        for number in going & stays:
            first, stop = buffer.places[number]
            into(place_of(number), buffer.all.slice(first, stop))
            waiting -= stop - first
        stays = stays - going
    if waiting == len(buffer.nodes):
        return np.arange(waiting)
    spans = [np.arange(*span) for n, span in buffer.places.items() if n in stays]
    return np.concatenate(spans or [np.zeros(0, np.int64)])


def _late_page(forest: Forest, place: Place, rows: Rows) -> None:
    """Give a leaf a page of late rows, or write it again as one page."""
    leaf = forest.trunk.nodes[place]
    if len(leaf.late) < LATE_PAGES:
        forest.set(replace(leaf, late=(*leaf.late, forest.pages.add(rows.table))))
        return
    assert leaf.rows is not None
    pages = [forest.rows.at(page) for page in (leaf.rows, *leaf.late)]
    whole = joined([*pages, rows])
    whole = taken(whole, np.lexsort([whole.times, whole.ids]))
    forest.pages.drop(leaf.rows, *leaf.late)
    forest.set(replace(leaf, rows=forest.pages.add(whole.table), late=()))


def _patch(forest: Forest, place: Place, changed: KeyMap) -> None:
    """Let some keys of a node have other partials: in a patch, or in its map if they are many."""
    node = forest.trunk.nodes[place]
    assert node.map is not None
    if node.patch is not None:
        changed = overlaid(forest.maps.at(node.patch), changed)
    if 4 * len(changed.ids) > node.map.rows:
        whole = overlaid(forest.maps.at(node.map), changed)
        forest.pages.drop(node.map, node.patch)
        forest.set(replace(node, map=forest.maps.add(whole), patch=None))
        return
    forest.pages.drop(node.patch)
    forest.set(replace(node, patch=forest.maps.add(changed)))
