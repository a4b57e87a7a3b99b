"""The middle of a window, carried from batch to batch.

The nodes that cover a middle get larger up to one and smaller after it. From one batch to the next
only the smallest ones at both ends change. So what is combined from the largest node outwards
stays: to the left the suffixes that end with it, to the right the prefixes that begin after it,
as the two stacks of Two-Stacks have them. A batch combines amortized one map at each end, and a
key has two partials to look up instead of O(log n).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sash.engine.stream.maps import KeyMap, Part, part_of

if TYPE_CHECKING:
    from sash.engine.stream.forest import Forest
    from sash.engine.stream.manifest import Node

MOST = 1 << 17
"""Keys of a map that is carried, at most."""

Names = tuple[str, ...]


class Carried:
    """Combined maps by the pages of the nodes that they are of: pages never change."""

    def __init__(self) -> None:
        self._maps: dict[Names, KeyMap] = {}

    def cover(self, forest: Forest, nodes: list[Node], keys: int | None) -> list[list[Part]]:
        """The maps that have the partials of nodes; `keys`: how many are asked for, None: all.

        Combining reads all keys of a map, so it is done where most of them are asked for. Nodes
        that wait for changes are left as they are.
        """
        layers = [forest.layers(node) for node in nodes]
        largest = max((len(parts[0].map.ids) for parts in layers), default=0)
        if len(nodes) < 3 or largest > (MOST if keys is None else min(MOST, 2 * keys)):
            self._maps = {}
            return layers
        peak = max(range(len(nodes)), key=lambda i: nodes[i].level) + 1
        before = self._maps
        self._maps = {}
        found: list[list[Part]] = []
        for first, stop in ((0, peak), (peak, len(nodes))):
            end = first
            while end < stop and not forest.waits(nodes[end]):
                end += 1
            if end > first:
                made = self._combined(forest, nodes[first:end], before, first == 0)
                found.append([part_of(made)])
            found += layers[end:stop]
        return found

    def _combined(
        self, forest: Forest, nodes: Sequence[Node], known: dict[Names, KeyMap], suffixes: bool
    ) -> KeyMap:
        """Nodes as one map, one after the other; the last one first where suffixes are kept."""
        order = range(len(nodes) - 1, -1, -1) if suffixes else range(len(nodes))
        total: KeyMap | None = None
        names: Names = ()
        for i in order:
            here = tuple(page.name for page in (nodes[i].map, nodes[i].patch) if page is not None)
            names = (*here, *names) if suffixes else (*names, *here)
            if total is None:
                total = forest.whole(nodes[i])
                continue
            made = known.get(names)
            if made is None:
                one = forest.whole(nodes[i])
                made = forest.maps.read_and_merged([one, total] if suffixes else [total, one])
            self._maps[names] = total = made
        assert total is not None
        return total
