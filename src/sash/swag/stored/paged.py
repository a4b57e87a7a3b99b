"""PagedMemory: memory for a tree of which only the ends of each level are here, the rest in pages.

A page has the nodes of one level, and stands for the levels above it up to the one where it
is a single node: they are combined again when it is read. So of `bits` levels, a *group*,
only the lowest is written and read, half of what there is to write; and one page serves a
search for `bits` levels. The middle of the groups is where `pages` says: `pages.read(wanted)`
gives pages in one trip, `pages.write(found)` takes them.

Before a batch the window asks for room (`reserve`) and for what evictions will read
(`reach`), so a batch finds all it needs here, except for searches, which `fetch`.

Legend  page p of a group has nodes p << bits up to (p + 1) << bits of its lowest level, the
        base; f..e is the window. A level `i` above its base is as far as the base is, >> i.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from sash.kernel.layout import Layout
from sash.kernel.words import Cursors, Memory, attach, combine, get, put
from sash.memory.columns import new_cells
from sash.memory.rings import LEAST, power_of_two
from sash.memory.segments import NEVER, Level, Place, Segments, cell, raw

RECENT = 3  # a step reads at most this many of a level's youngest nodes: they stay in the tail
AHEAD = 4  # and this many of its oldest ones: they stay in the head


def derive(memory: Memory, at: Cursors, level: int, n: int, first: int) -> Any:
    """The nodes of the n - 1 levels above a page, which begins at node `first` of `level`.

    Nodes that have lost items are left out: nobody reads them.
    """
    q = attach(memory)
    for k in range(1, n):
        up, down = cell(q, level + k, first >> k), cell(q, level + k - 1, first >> (k - 1))
        count = 1 << (n - k)
        lost = -(-at.f >> (level + k)) - (first >> k)
        for i in range(min(count, max(0, lost)), count):
            both = combine(get(q.part, down + 2 * i), get(q.part, down + 2 * i + 1))
            put(q.part, up + i, both)
    return at


class TooFar(Exception):
    """A batch asked for more single nodes than there is room for: do it in smaller pieces."""


class Pages(Protocol):
    """Where the middle of the levels is."""

    def read(self, wanted: list[Place]) -> list[Any]:
        """Pages of nodes, as arrays or lists; all or, when it raises, none."""

    def read_ahead(self, wanted: list[Place]) -> None:
        """These pages will probably be read next: begin, if there is something to wait for."""

    def prepare(self) -> None:
        """Raise what stands in the way of `write`."""

    def write(self, found: dict[Place, Any], at: Any) -> None:
        """Take pages, at a moment when the cursors are `at`; copies those it keeps."""


class Nodes(NamedTuple):
    """The nodes of a tree.

    `final(at, l)`: nodes of level l below it never change, except the oldest one.
    `derive(memory, at, …)` runs the step of that name.
    """

    columns: type
    layout: Layout | None
    identity: Any
    places: int
    final: Callable[[Any, int], int]
    derive: Callable[[Segments, Any, int, int, int], None]


class Sizes(NamedTuple):
    """How many nodes a page has, a base's tail at most, and its head; powers of two.

    A tail and a head have more while a batch needs more.
    """

    page: int
    buffer: int
    cache: int


class PagedMemory(Segments):
    """Room for a tree in levels, most of it in pages; local memory is O(log n)."""

    def __init__(self, nodes: Nodes, pages: Pages, sizes: Sizes) -> None:
        super().__init__(nodes.columns, nodes.layout, nodes.identity, nodes.places)
        self._final, self._pages, self._derive = nodes.final, pages, nodes.derive
        self.page, self._buffer, self._cache = sizes
        self.bits = self.page.bit_length() - 1
        self.problem: BaseException | None = None
        self.misses = 0
        self.at: Any = None  # of the window when it last asked for something
        self._roomy = self._reached = -1  # no level lacks anything up to e and f of these
        self._seen: dict[int, tuple[int, Segments]] = {}  # a page of each group, with its levels

    # What steps ask for

    def fetch(self, level: int, j: int) -> int:
        """The cell of a node from the middle of a level; its page is read if need be."""
        self.misses += 1
        there = self.spare(level, j)
        if there is None:
            up = level % self.bits
            page = (j << up) >> self.bits
            tree = self._page_of(level - up, page)
            own = tree.levels[up]
            v = tree.columns["part"].array[own.tail + j - (page << self.bits >> up)]
            there = self.add_spare(level, j, v)
            if there is None:
                raise TooFar
        return there

    def fetch_compiled(self, level: int, j: int) -> int:
        """`fetch` for compiled code, which no error can pass: it goes on, and is undone."""
        if self.problem is None:
            try:
                return self.fetch(level, j)
            except BaseException as problem:
                self.problem = problem
        return 0

    def _page_of(self, base: int, page: int) -> Segments:
        """A page and the levels above it, in a room of their own."""
        seen = self._seen.get(base)
        if seen is None or seen[0] != page:
            values = self._pages.read([(base, page)])[0]
            tree = Segments(self._record, self.layout, self._identity, 0)
            tree.held = None if self.held is None else self.held.copy()
            tree.levels = [Level(0) for _ in range(self.bits)]
            tree.lay_out([(self.page >> up, 0) for up in range(self.bits)])
            tree.put_run(tree.levels[0], 0, values)
            lost = max(0, -(-self.at.f >> base) - (page << self.bits))
            self._derive(tree, self.at._replace(f=lost), 0, self.bits, 0)
            seen = self._seen[base] = page, tree
        return seen[1]

    # What a window asks for between steps

    def reserve(self, at: Any, more: int) -> None:
        """Make room for `more` insertions: larger tails, or pages that leave them.

        With pages the oldest nodes may leave a tail: then they are in the head.
        """
        self.at = at
        if at.e + more <= self._roomy:
            return
        found: dict[Place, Any] = {}
        self._add_levels(at, (at.e - at.f + more).bit_length() + 2)
        if self._short(at, more):
            self.pass_by(at)
            if self._spans(at, more)[0] > self._most(more):
                found = self.take(at)
                if found:
                    self._pages.write(found, at)
            if self._short(at, more):
                spans = zip(self.levels, self._spans(at, more))
                self.lay_out([(max(s.tail_size, power_of_two(n)), s.head_size) for s, n in spans])
            self.note()
        rooms = ((s.young + s.tail_size - RECENT) << k for k, s in enumerate(self.levels))
        self._roomy = min(*rooms, at.f + (1 << (len(self.levels) - 2)) - 1)
        if found:
            self.reach(at, more)

    def reach(self, at: Any, evicts: int) -> None:
        """Have the oldest nodes here, as far as `evicts` evictions read them: one trip."""
        self.at = at
        if at.f + evicts <= self._reached and not self._spare:
            return
        wanted, plans = self._lacking(at, evicts)
        found = self._pages.read(wanted) if wanted else []
        self._set_heads(plans)
        for (base, page), values in zip(wanted, found):
            self.put_head(self.levels[base], page << self.bits, values)
        for base, page in wanted:
            self._derive(self, at, base, self.bits, page << self.bits)
        self.keep_spares()
        top = self.bits - 1
        ends = ((b, s) for b, s in enumerate(self.levels) if b % self.bits == 0)
        self._reached = min(
            (((s.read >> top) - AHEAD) << (b + top) for b, s in ends if s.read < s.young),
            default=NEVER,
        )
        following = at._replace(f=max(self._reached - evicts + 1, at.f + evicts))
        self._pages.read_ahead(self._lacking(following, evicts)[0])

    def reserve_ring(self, at: Any, most: int) -> None:
        raise TypeError("a window over a store slides by its own means: use slide or insert_many")

    def release(self, at: Any) -> None:
        """After evictions or a search: the head is where the window now begins.

        The step is done, so what pages do not answer is not its error: spare nodes stay, and
        the next step asks again before it begins.
        """
        if self._spare:
            with contextlib.suppress(OSError):
                self.reach(at, 1)
        self._seen.clear()

    def undo(self, saved: dict[str, Any]) -> None:
        super().undo(saved)
        self.forget()

    def forget(self) -> None:
        """Drop what steps asked for: they are undone, or only looked."""
        self.drop_spares()
        self._seen.clear()
        self.problem = None

    def pass_by(self, at: Any) -> None:
        """Let tails begin where the window does, if no page of theirs is needed any more."""
        for base in range(0, len(self.levels), self.bits):
            first = at.f >> base
            if first >= self.levels[base].young:
                for up, level in enumerate(self.levels[base : base + self.bits]):
                    level.young = level.old = level.read = first >> up

    def take(self, at: Any) -> dict[Place, Any]:
        """The whole pages of all tails, which leave them: their room is free again.

        They may be parts of the tails: use them, or copy them, before the next insertion.
        """
        self._pages.prepare()
        self.pass_by(at)
        leaving = [self._leaving(at, base) for base in range(0, len(self.levels), self.bits)]
        self._have_heads([bool(pages) for pages in leaving])
        found: dict[Place, Any] = {}
        for base, pages in zip(range(0, len(self.levels), self.bits), leaving):
            group = self.levels[base : base + self.bits]
            self._pass_heads(group, (at.f >> base) & -self.page)
            for page in pages:
                self._extend_heads(group, page)
                found[base, page] = self._tail_page(group[0], page)
                for up, level in enumerate(group):
                    level.young = (page + 1) << self.bits >> up
        if found:
            self.note()
            self._roomy = self._reached = -1
        return found

    # Tails, for a commit and after it

    def tails(self, at: Any) -> list[tuple[int, Any]]:
        """Of each level, where its tail begins and its final nodes."""
        return [
            (level.young, self.run(level, level.young, max(level.young, end)))
            for level, end in ((s, self._final(at, k)) for k, s in enumerate(self.levels))
        ]

    def set_tails(self, at: Any, tails: list[tuple[int, Any]]) -> None:
        """Begin with these; heads are read when they are asked for."""
        self.levels = []
        for k, (young, _) in enumerate(tails):
            level, up = Level(young), k % self.bits
            level.old = level.read = min(young, (at.f >> (k - up) & -self.page) >> up)
            self.levels.append(level)
        self.lay_out([(power_of_two(max(LEAST, len(run) + RECENT)), 0) for _, run in tails])
        for level, (young, run) in zip(self.levels, tails):
            self.put_run(level, young, run)
        self._roomy = self._reached = -1

    # Inside

    def _add_levels(self, at: Any, count: int) -> None:
        """Have that many levels, in whole groups."""
        missing = -(-max(0, count - len(self.levels)) // self.bits) * self.bits
        if missing:
            sizes = [(level.tail_size, level.head_size) for level in self.levels]
            new = range(len(self.levels), len(self.levels) + missing)
            self.levels += [Level(at.f >> k) for k in new]
            self.lay_out(sizes + [(LEAST, 0)] * missing)

    def _spans(self, at: Any, more: int) -> list[int]:
        """How large each tail must be for `more` insertions."""
        end = at.e + more
        return [(end >> k) + RECENT - s.young for k, s in enumerate(self.levels)]

    def _short(self, at: Any, more: int) -> bool:
        return any(n > s.tail_size for n, s in zip(self._spans(at, more), self.levels))

    def _most(self, more: int) -> int:
        """How large the lowest tail may be before its pages leave it.

        Its recent nodes, of the highest level of its group, are up to three and a half pages.
        """
        return power_of_two(max(self._buffer, more + 7 * self.page // 2 + 2 * RECENT))

    def _lacking(self, at: Any, evicts: int) -> tuple[list[Place], list[tuple[int, int, int]]]:
        """Which pages are to be read, and for each base its new old, read and head's size."""
        low, top = self.page - 1, self.bits - 1
        wanted: list[Place] = []
        plans = []
        for base in range(0, len(self.levels), self.bits):
            level, first = self.levels[base], at.f >> base
            if first >= level.young:
                plans.append((level.young, level.young, level.head_size))
                continue
            old, room = first & ~low, level.head_size
            read = level.read if level.old <= old <= level.read else old
            needed = (((at.f + evicts) >> (base + top)) + AHEAD) << top
            needed = min(level.young, (needed + low) & ~low)
            if read < needed:
                room = max(room, self._cache, power_of_two(needed - old))
                end = min(level.young, old + room) & ~low
                wanted += [(base, page) for page in range(read >> self.bits, end >> self.bits)]
                read = end
            plans.append((old, read, room))
        return wanted, plans

    def _set_heads(self, plans: list[tuple[int, int, int]]) -> None:
        bases = range(0, len(self.levels), self.bits)
        if any(room > self.levels[base].head_size for base, (_, _, room) in zip(bases, plans)):
            rooms = (room >> up for _, _, room in plans for up in range(self.bits))
            self.lay_out([(s.tail_size, max(s.head_size, n)) for s, n in zip(self.levels, rooms)])
        for base, (old, read, _) in zip(bases, plans):
            for up, level in enumerate(self.levels[base : base + self.bits]):
                level.old, level.read = old >> up, read >> up
        self.note()

    def _leaving(self, at: Any, base: int) -> range:
        """The pages of a group's tails that have no recent node of any of its levels."""
        recent = ((self._final(at, base + up) - RECENT) << up for up in range(self.bits))
        return range(self.levels[base].young >> self.bits, min(recent) >> self.bits)

    def _have_heads(self, groups: list[bool]) -> None:
        """Heads for groups whose first pages leave the tails: the oldest nodes stay here.

        Only they are as evictions left them; in the page, some may have been set since.
        """
        sizes = [
            max(self.levels[base].head_size, self._cache if leaves else 0) >> up
            for base, leaves in zip(range(0, len(self.levels), self.bits), groups)
            for up in range(self.bits)
        ]
        if any(n > s.head_size for n, s in zip(sizes, self.levels)):
            self.lay_out([(s.tail_size, n) for n, s in zip(sizes, self.levels)])

    def _pass_heads(self, group: list[Level], oldest: int) -> None:
        """Let a head begin where the window does."""
        if group[0].old <= oldest <= group[0].read:
            for up, level in enumerate(group):
                level.old = oldest >> up

    def _extend_heads(self, group: list[Level], page: int) -> None:
        """Keep a page that leaves the tails, if the head is next to it and has room."""
        base, first = group[0], page << self.bits
        if base.read < base.young:  # it is not
            return
        old = min(base.old, base.read) & -self.page
        fits = first + self.page - old <= base.head_size
        for up, level in enumerate(group):
            level.old, level.read = old >> up, (first + self.page if fits else first) >> up
            if fits:
                lo = max(level.young, first >> up)
                self.put_head(level, lo, self.run(level, lo, (first + self.page) >> up))

    def _tail_page(self, level: Level, page: int) -> Any:
        """A page of a tail; nodes that left the window before it was whole are the identity."""
        first, end = page << self.bits, (page + 1) << self.bits
        if level.young <= first and level.tail_size >= self.page:
            start = level.tail + (first & (level.tail_size - 1))
            return raw(self.columns["part"].array)[start : start + self.page]
        run = self.run(level, max(first, level.young), end)
        missing = self.page - len(run)
        if self.layout is None:
            return [self._identity] * missing + run
        values = new_cells(self.layout, self.page)
        values[:missing] = self._identity
        raw(values)[missing:] = run
        return values
