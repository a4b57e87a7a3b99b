"""The manifest: which pages a stream's state is made of, and what they are good for.

It is all of the state that changes, and it is written last: what it names is the state.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field, replace
from typing import Any

from sash.engine.stream.pages import Page, StateError
from sash.stores.encoding import seal, unseal
from sash.stores.errors import DamagedState

FORMAT = 3
NAME = "manifest"
KIND = b"stream"


@dataclass(frozen=True)
class Node:
    """A node of the tree over bulks: bulks index * 2^level up to (index + 1) * 2^level.

    A leaf has `rows`, and while they are not all answered `rest`, the columns that only come
    out again; `late` are rows that came into it afterwards. `map` has a partial per key;
    `patch` those that late rows have changed. `oldest` and `youngest`: the times of its rows.
    """

    level: int
    index: int
    oldest: float
    youngest: float
    late: tuple[Page, ...] = ()
    map: Page | None = None
    rows: Page | None = None
    rest: Page | None = None
    patch: Page | None = None

    @property
    def first(self) -> int:
        """The number of its first bulk."""
        return self.index << self.level

    @property
    def stop(self) -> int:
        """The number after that of its last bulk."""
        return (self.index + 1) << self.level

    @property
    def pages(self) -> list[Page]:
        found = [self.map, self.rows, self.rest, self.patch, *self.late]
        return [page for page in found if page is not None]


@dataclass(frozen=True)
class Pending:
    """Rows in order of time that the watermark has not passed; those before `start` are gone."""

    page: Page
    start: int
    oldest: float
    youngest: float


@dataclass
class Trunk:
    """The nodes of a tree, the number of its next bulk, and buffers in front of it: late rows,
    partials that they have changed, and late rows that are in no bulk yet."""

    nodes: dict[tuple[int, int], Node] = field(default_factory=dict)
    next: int = 0
    late: Page | None = None
    changed: Page | None = None
    waiting: Page | None = None

    @property
    def pages(self) -> list[Page]:
        """All pages of nodes and buffers."""
        known = (self.late, self.changed, self.waiting)
        buffers = [page for page in known if page is not None]
        return buffers + [page for node in self.nodes.values() for page in node.pages]

    def dump(self) -> Any:
        nodes = [
            (n.level, n.index, n.oldest, n.youngest, n.map, n.rows, n.rest, n.patch, n.late)
            for n in self.nodes.values()
        ]
        return self.next, nodes, self.late, self.changed, self.waiting

    @staticmethod
    def load(found: Any) -> Trunk:
        nodes = {}
        for level, index, oldest, youngest, *pages, late in found[1]:
            known = (None if page is None else Page(*page) for page in pages)
            late_rows = tuple(Page(*page) for page in late)
            nodes[level, index] = Node(level, index, oldest, youngest, late_rows, *known)
        buffers = (None if page is None else Page(*page) for page in found[2:])
        return Trunk(nodes, found[0], *buffers)


@dataclass
class Manifest:
    """The pages of a shard, the watermark, and from when on its rows are complete."""

    definition: dict[str, Any]
    watermark: float | None = None
    arrived: int = 0  # rows that have come, by which they are numbered where that matters
    complete: float | None = None  # rows from this time on are all here; None: all rows ever
    bulks: Trunk = field(default_factory=Trunk)  # of rows, or of slices with `every`
    reread: Trunk = field(default_factory=Trunk)  # of rows, where slices do not answer
    pending: list[Pending] = field(default_factory=list)
    tails: dict[str, list[Page]] = field(default_factory=dict)
    collided: dict[str, int] = field(default_factory=dict)  # "hash/check" of a key: its number
    unseen: list[Page] = field(default_factory=list)  # keys whose values have yet to come out

    @property
    def _trunks(self) -> tuple[Trunk, Trunk]:
        return self.bulks, self.reread

    def copy(self) -> Manifest:
        """A copy that may be changed."""
        return replace(
            self,
            bulks=replace(self.bulks, nodes=dict(self.bulks.nodes)),
            reread=replace(self.reread, nodes=dict(self.reread.nodes)),
            pending=list(self.pending),
            tails={name: list(pages) for name, pages in self.tails.items()},
            collided=dict(self.collided),
            unseen=list(self.unseen),
        )

    @property
    def pages(self) -> list[Page]:
        """All pages that are named."""
        found = [page for trunk in self._trunks for page in trunk.pages]
        found += [*(each.page for each in self.pending), *self.unseen]
        return found + [page for pages in self.tails.values() for page in pages]

    @property
    def size(self) -> int:
        """Bytes of all pages."""
        return sum(page.size for page in self.pages)

    @property
    def rows(self) -> int:
        """Rows, or slices, that are kept."""
        nodes = [node for trunk in self._trunks for node in trunk.nodes.values()]
        leaves = [p.rows for n in nodes for p in (n.rows, *n.late) if p is not None]
        tails = [page.rows for pages in self.tails.values() for page in pages]
        buffers = [page for trunk in self._trunks for page in (trunk.late, trunk.waiting)]
        leaves += [page.rows for page in buffers if page is not None]
        return sum(leaves) + sum(p.page.rows - p.start for p in self.pending) + sum(tails)

    def dump(self) -> bytes:
        """The manifest as bytes, sealed."""
        data = {
            "format": FORMAT,
            **{name: getattr(self, name) for name in
               ("definition", "watermark", "arrived", "complete", "tails", "collided", "unseen")},
            "bulks": self.bulks.dump(),
            "reread": self.reread.dump(),
            "pending": [(p.page, p.start, p.oldest, p.youngest) for p in self.pending],
        }  # fmt: skip
        return seal(zlib.compress(json.dumps(data).encode(), 1), kind=KIND)

    @staticmethod
    def load(data: Any) -> Manifest:
        """The manifest that `dump` gave; StateError if it is damaged or of another version."""
        if bytes(data[:1]) == b"{":
            raise StateError(
                "the stream's state was written by Sash 0.1.0: finish the stream with that "
                "version, or start from a new checkpoint"
            )
        try:
            found = json.loads(zlib.decompress(unseal(memoryview(data), KIND)))
        except (DamagedState, zlib.error, ValueError) as problem:
            raise StateError(f"the manifest of the stream's state is damaged: {problem}") from None
        if found.pop("format") != FORMAT:
            raise StateError(
                "the stream's state is of another version of Sash: finish the stream with that "
                "one, or start from a new checkpoint"
            )
        bulks, reread = (Trunk.load(found.pop(name)) for name in ("bulks", "reread"))
        pending = [Pending(Page(*page), *rest) for page, *rest in found.pop("pending")]
        tails = {name: [Page(*p) for p in pages] for name, pages in found.pop("tails").items()}
        unseen = [Page(*page) for page in found.pop("unseen", [])]
        found |= {"bulks": bulks, "reread": reread, "pending": pending, "tails": tails}
        return Manifest(**found, unseen=unseen)
