"""Paged: room for a tree's levels of which only the ends are here, the rest in pages elsewhere.

    tail   the youngest nodes of a level, a ring: what is written (the write buffer)
    head   the oldest ones, a ring of whole pages: what is read next (the read cache)
    spare  single nodes in between that a step asked for, until the next `settle`

The middle of a level is where `pages` says: `pages.read(wanted)` gives pages of nodes, in
one trip; `pages.write(found)` takes them. Steps are the ones of the tree in memory, with
another meaning of `cell`. Before a batch the window asks for room (`reserve`) and for what
evictions will read (`reach`), so a batch finds all it needs here, but for searches.

Legend  a level has its tail from node `young` on, its head from `old` up to `read`;
        page p has nodes p << bits up to (p + 1) << bits. f..e is the window.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from sash.kernel.cells import Table, held_rows, new_cells
from sash.kernel.layout import Layout
from sash.kernel.rings import LEAST, power_of_two
from sash.kernel.words import _word, dtype_of

FIELDS = 3  # the logarithm of how many numbers a level has in the column `levels`
MOST_LEVELS = 62
NEVER = 1 << 62
RECENT = 4  # a step reads at most so many of a level's youngest nodes: they stay in the tail
SPARE = 4096

Place = tuple[int, int]  # a level and a page, or a level and a node

fetch = _word("fetch", "fetch(q, level, j): the cell of a node that is neither in head nor tail")


def cell(q: Any, level: int, j: int) -> int:
    """Where node j of a level lies: in its tail, in its head, or where `fetch` puts it."""
    k = level << FIELDS
    if j >= q.levels[k]:
        return q.levels[k + 1] + (j & q.levels[k + 2])
    if j < q.levels[k + 3]:
        return q.levels[k + 4] + (j & q.levels[k + 5])
    return fetch(q, level, j)


class TooFar(Exception):
    """A batch asked for more single nodes than there is room for: do it in smaller pieces."""


class Pages(Protocol):
    """Where the middle of the levels is."""

    def read(self, wanted: list[Place]) -> list[Any]:
        """Pages of nodes, as arrays or lists; all or, when it raises, none."""

    def prepare(self) -> None:
        """Raise what stands in the way of `write`."""

    def write(self, found: dict[Place, Any], at: Any) -> None:
        """Take pages, at a moment when the cursors are `at`; keeps them if it can not yet."""


class Level:
    """One level: where its tail and its head begin, in nodes and in cells."""

    __slots__ = ("head", "head_size", "old", "read", "tail", "tail_size", "young")

    def __init__(self, young: int) -> None:
        self.young = self.old = self.read = young
        self.tail = self.head = self.tail_size = self.head_size = 0


class Paged:
    """Room for a tree in levels, most of it in pages; local memory is O(log n)."""

    chunked = False
    cap = NEVER  # there is always room

    def __init__(
        self,
        store: type,
        layout: Layout | None,
        identity: Any,
        places: int,
        final: Callable[[Any, int], int],
        pages: Pages,
        page: int,
        buffer: int,
        cache: int,
    ) -> None:
        """`final(at, l)`: nodes of level l below it never change, but for the oldest one.

        A page has `page` nodes, a tail up to `buffer` and a head `cache`, powers of two;
        more while a batch needs more.
        """
        self.layout, self._store, self._identity = layout, store, identity
        self._final, self._pages = final, pages
        self.bits = page.bit_length() - 1
        self.page, self._buffer, self._cache = page, buffer, cache
        self.held = held_rows(layout, identity, places)
        self.levels: list[Level] = []
        self.problem: BaseException | None = None
        self.misses = 0
        self.fixed = False  # compiled code is running: the cells must stay where they are
        self._spare: dict[Place, int] = {}
        self._first_spare = 0
        self._seen: dict[int, tuple[int, Any]] = {}
        self._journal: list[tuple[int, Any]] = []
        self._roomy = self._reached = -1  # no level lacks anything up to e and f of these
        self._callback: Any = None
        self._addresses: tuple[Any, tuple[int, ...]] | None = None  # of the part that it is for
        self._new_columns()
        self._lay_out([])

    # What steps take

    def save(self, nodes: bool = False) -> dict[str, Any]:
        """What a step changes, for `undo`; with `nodes`, those that were there before too.

        Compiled code says nothing of the nodes it changes, so all that are here are copied,
        if some are not here: only then it can fail. Plain Python keeps a journal of them.
        """
        self._journal = []
        partly = any(s.read < s.young for s in self.levels)
        tables = {n: c.array for n, c in self.columns.items() if isinstance(c, Table)}
        if not (nodes and self.fixed and partly):
            del tables["part"]
        return {name: array.copy() for name, array in tables.items()}

    def undo(self, saved: dict[str, Any]) -> None:
        """Back to what `save` gave; nodes that were made since lie beyond the window's end."""
        part = self.columns["part"]
        for i, v in reversed(self._journal):
            part[i] = v
        for name, array in saved.items():
            self.columns[name].array[:] = array
        self.forget()

    def put(self, part: Any, i: int, v: Any) -> Any:
        """The word `put` in plain Python, of an algorithm that changes nodes."""
        if part is self.columns["part"]:
            self._journal.append((i, part[i]))
        part[i] = v
        return v

    def memory(self) -> tuple[int, ...]:
        if self._callback is None:
            from sash.kernel.callback import address_of

            self._callback, self.columns["fetch"][0] = address_of(self._fetch_or_note)
        part = self.columns["part"].array
        if self._addresses is None or self._addresses[0] is not part:
            columns = self.columns.values()
            pairs = (c.address if isinstance(c, Table) else (c.ctypes.data, 0) for c in columns)
            held = 0 if self.held is None else self.held.ctypes.data
            self._addresses = part, (*(number for pair in pairs for number in pair), held)
        return self._addresses[1]

    def fetch(self, level: int, j: int) -> int:
        """The cell of a node from the middle of a level; its page is read if need be."""
        self.misses += 1
        there = self._spare.get((level, j))
        if there is not None:
            return there
        part, there = self.columns["part"], self._first_spare + len(self._spare)
        if there == len(part):
            if self.fixed:
                raise TooFar
            part.enlarge(2 * len(part))
        part.array[there] = self._page_of(level, j >> self.bits)[j & (self.page - 1)]
        self._spare[level, j] = there
        return there

    def _fetch_or_note(self, level: int, j: int) -> int:
        """`fetch` for compiled code, which no error can pass: it goes on, and is undone."""
        if self.problem is None:
            try:
                return self.fetch(level, j)
            except BaseException as problem:
                self.problem = problem
        return 0

    def _page_of(self, level: int, page: int) -> Any:
        seen = self._seen.get(level)
        if seen is None or seen[0] != page:
            seen = self._seen[level] = page, self._pages.read([(level, page)])[0]
        return seen[1]

    # What a window asks for between steps

    def reserve(self, at: Any, more: int) -> None:
        """Make room for `more` insertions: larger tails, or pages that leave them.

        With pages the oldest nodes may leave a tail: then they are in the head.
        """
        if at.e + more <= self._roomy:
            return
        found: dict[Place, Any] = {}
        self._add_levels(at, (at.e - at.f + more).bit_length() + 2)
        if self._short(at, more):
            self.pass_by(at)
            if any(n > most for n, most in zip(self._spans(at, more), self._most(more))):
                found = self.take(at)
                if found:
                    self._pages.write(found, at)
            if self._short(at, more):
                spans = zip(self.levels, self._spans(at, more))
                self._lay_out([(max(s.tail_size, power_of_two(n)), s.head_size) for s, n in spans])
            self._note()
        rooms = ((s.young + s.tail_size - RECENT) << k for k, s in enumerate(self.levels))
        self._roomy = min(*rooms, at.f + (1 << (len(self.levels) - 2)) - 1)
        if found:
            self.reach(at, more)

    def reach(self, at: Any, evicts: int) -> None:
        """Have the oldest nodes here, as far as `evicts` evictions read them: one trip."""
        if at.f + evicts <= self._reached and not self._spare:
            return
        wanted, plans = self._lacking(at, evicts)
        found = self._pages.read(wanted) if wanted else []
        if any(room > level.head_size for level, (_, _, room) in zip(self.levels, plans)):
            self._lay_out([
                (level.tail_size, max(level.head_size, room))
                for level, (_, _, room) in zip(self.levels, plans)
            ])  # fmt: skip
        for level, (old, read, _) in zip(self.levels, plans):
            level.old, level.read = old, read
        for (number, page), values in zip(wanted, found):
            self._put_page(self.levels[number], page, values)
        self._keep_spares()
        self._note()
        ends = ((s.read - 3) << k for k, s in enumerate(self.levels) if s.read < s.young)
        self._reached = min(ends, default=NEVER)

    def reserve_ring(self, at: Any, most: int) -> None:
        raise TypeError("a window over a store slides by its own means: use slide or insert_many")

    def release(self, at: Any) -> None:
        """After evictions or a search: the head is where the window now begins."""
        if self._spare:
            self.reach(at, 1)
        self._seen.clear()

    def forget(self) -> None:
        """Drop what steps asked for: they are undone, or only looked."""
        self._spare.clear()
        self._seen.clear()
        self.problem = None
        part = self.columns["part"]
        if len(part) > self._first_spare + SPARE:  # a check read all there is
            part.array = part.array[: self._first_spare + SPARE].copy()

    def pass_by(self, at: Any) -> None:
        """Let tails begin where the window does, if no page of theirs is needed any more."""
        for k, level in enumerate(self.levels):
            first = at.f >> k
            if first >= level.young:
                level.young = level.old = level.read = first

    def take(self, at: Any) -> dict[Place, Any]:
        """The whole pages of all tails, which leave them: their room is free again."""
        self._pages.prepare()
        self.pass_by(at)
        found: dict[Place, Any] = {}
        for k, level in enumerate(self.levels):
            oldest = (at.f >> k) & ~(self.page - 1)
            if level.old <= oldest <= level.read:
                level.old = oldest
            last = (self._final(at, k) - RECENT) >> self.bits  # pages below it can go
            for page in range(level.young >> self.bits, last):
                found[k, page] = self._tail_page(level, page)
                self._extend_head(level, page, found[k, page])
                level.young = (page + 1) << self.bits
        if found:
            self._note()
            self._roomy = self._reached = -1
        return found

    # Tails, for a commit and after it

    def tails(self, at: Any) -> list[tuple[int, bytes | memoryview]]:
        """Of each level, where its tail begins and its final nodes as bytes."""
        return [
            (level.young, encode(self._run(level, level.young, max(level.young, end))))
            for level, end in ((s, self._final(at, k)) for k, s in enumerate(self.levels))
        ]

    def set_tails(self, at: Any, tails: Iterable[tuple[int, bytes]]) -> None:
        """Begin with these; heads are read when they are asked for."""
        self.levels, runs = [], []
        for k, (young, blob) in enumerate(tails):
            level = Level(young)
            level.old = level.read = min(young, (at.f >> k) & ~(self.page - 1))
            self.levels.append(level)
            runs.append(decode(blob, self.layout))
        self._lay_out([(power_of_two(max(LEAST, len(run) + RECENT)), 0) for run in runs])
        for level, run in zip(self.levels, runs):
            self._put_run(level, level.young, run)
        self._roomy = self._reached = -1

    @property
    def nbytes(self) -> int:
        """Local memory, objects at the size of a pointer."""
        width = 8 if self.layout is None else self.layout.width
        return width * sum(len(c) for c in self.columns.values() if isinstance(c, Table))

    def text(self, at: Any) -> str:
        """Where the levels are, for a person."""
        ends = ((s.old, s.read, s.young, s.tail_size, s.head_size) for s in self.levels)
        return "old, read, young, tail, head of each level\n" + "\n".join(map(str, ends))

    # Inside

    def _new_columns(self) -> None:
        self.columns: dict[str, Any] = {}
        for name, kind in inspect.get_annotations(self._store).items():
            if name == "held":
                continue
            dtype, count = dtype_of(kind), (MOST_LEVELS + 2) << FIELDS
            self.columns[name] = (
                Table(self.layout, MOST_LEVELS + 2) if dtype is None else np.zeros(count, dtype)
            )
        self.columns["levels"][:: 1 << FIELDS] = NEVER  # no level is here yet
        self._view = memoryview(self.columns["levels"])

    def _lay_out(self, sizes: list[tuple[int, int]]) -> None:
        """Tails and heads of these sizes, the nodes moved; cell 0 is anyone's."""
        begins = np.cumsum([1, *(n for pair in sizes for n in pair)]).tolist()
        spare = SPARE if any(head for _, head in sizes) else 0
        first, taken = begins[-1], len(self._spare)
        part = Table(self.layout, first + max(spare, taken))
        part.array[0] = self._identity
        old, self.columns["part"] = self.columns["part"], part
        if taken:
            start = self._first_spare
            part.array[first : first + taken] = old.array[start : start + taken]
            self._spare = {place: first + i for i, place in enumerate(self._spare)}
        self._first_spare = first
        for k, (level, (tail, head)) in enumerate(zip(self.levels, sizes)):
            a, b = begins[2 * k], begins[2 * k + 1]
            _move(old.array, level.tail, level.tail_size, part.array, a, tail, level.young)
            _move(old.array, level.head, level.head_size, part.array, b, head, level.old)
            level.tail, level.tail_size, level.head, level.head_size = a, tail, b, head
            i = k << FIELDS
            self._view[i + 1], self._view[i + 2] = a, max(0, tail - 1)
            self._view[i + 4], self._view[i + 5] = b, max(0, head - 1)
        views = (c if isinstance(c, Table) else memoryview(c) for c in self.columns.values())
        self.plain = self._store(*views, 0)
        self._note()

    def _note(self) -> None:
        """Tell `cell` what the tails and heads have."""
        view, k = self._view, 0
        for level in self.levels:
            view[k], view[k + 3] = level.young, level.read if level.head_size else 0
            k += 1 << FIELDS

    def _add_levels(self, at: Any, count: int) -> None:
        if count > len(self.levels):
            sizes = [(level.tail_size, level.head_size) for level in self.levels]
            new = range(len(self.levels), count)
            self.levels += [Level(at.f >> k) for k in new]
            self._lay_out(sizes + [(LEAST, 0)] * len(new))

    def _spans(self, at: Any, more: int) -> list[int]:
        """How large each tail must be for `more` insertions."""
        end = at.e + more
        return [(end >> k) + RECENT - s.young for k, s in enumerate(self.levels)]

    def _short(self, at: Any, more: int) -> bool:
        return any(n > s.tail_size for n, s in zip(self._spans(at, more), self.levels))

    def _most(self, more: int) -> list[int]:
        """How large each tail may be before its pages leave it."""
        least = self.page + 2 * RECENT
        spans = ((more >> k) + least for k in range(len(self.levels)))
        return [power_of_two(max(self._buffer, n)) for n in spans]

    def _lacking(self, at: Any, evicts: int) -> tuple[list[Place], list[tuple[int, int, int]]]:
        """Which pages are to be read, and for each level its new old, read and head's size."""
        wanted: list[Place] = []
        plans = []
        low, refill = self.page - 1, False
        spans = []
        for k, level in enumerate(self.levels):
            first = at.f >> k
            if first >= level.young:
                spans.append((level.young, level.young, level.young))
                continue
            old = first & ~low
            read = level.read if level.old <= old <= level.read else old
            needed = min(level.young, (((at.f + evicts) >> k) + 3 + low) & ~low)
            refill = refill or read < needed
            spans.append((old, read, needed))
        for k, (level, (old, read, needed)) in enumerate(zip(self.levels, spans)):
            room = level.head_size
            low_on = read < needed or read - (at.f >> k) < self.page
            if refill and read < level.young and low_on:
                room = max(room, self._cache, power_of_two(needed - old))
                end = min(level.young, old + room) & ~low
                wanted += [(k, page) for page in range(read >> self.bits, end >> self.bits)]
                read = end
            plans.append((old, read, room))
        return wanted, plans

    def _tail_page(self, level: Level, page: int) -> Any:
        """A copy; what of it the window has passed before it was whole is anything."""
        first, end = page << self.bits, (page + 1) << self.bits
        if level.young <= first and level.tail_size >= self.page:
            start = level.tail + (first & (level.tail_size - 1))
            whole = self.columns["part"].array[start : start + self.page]
            return whole if self.layout is None else whole.copy()
        run = self._run(level, max(first, level.young), end)
        values = new_cells(self.layout, self.page)
        values[self.page - len(run) :] = run
        return values

    def _extend_head(self, level: Level, page: int, values: Any) -> None:
        """Keep a page that leaves the tail, if the head is next to it and has room."""
        first = page << self.bits
        if level.read >= level.young:  # next to it
            level.old = min(level.old, level.read) & ~(self.page - 1)
            if first + self.page - level.old <= level.head_size:
                self._put_page(level, page, values)
                level.read = first + self.page
            elif level.read > first:
                level.read = first

    def _put_page(self, level: Level, page: int, values: Any) -> None:
        start = level.head + ((page << self.bits) & (level.head_size - 1))
        self.columns["part"].array[start : start + self.page] = values

    def _keep_spares(self) -> None:
        """Nodes that steps may have set: what is in the head now is as they left it."""
        array = self.columns["part"].array
        for (k, j), there in self._spare.items():
            level = self.levels[k]
            if level.old <= j < level.read:
                array[level.head + (j & (level.head_size - 1))] = array[there]
        self._spare.clear()

    def _run(self, level: Level, lo: int, hi: int) -> Any:
        run = new_cells(self.layout, hi - lo)
        array, mask = self.columns["part"].array, level.tail_size - 1
        done = 0
        while lo + done < hi:
            i = (lo + done) & mask
            n = min(hi - lo - done, level.tail_size - i)
            run[done : done + n] = array[level.tail + i : level.tail + i + n]
            done += n
        return run

    def _put_run(self, level: Level, lo: int, run: Any) -> None:
        array, mask, done = self.columns["part"].array, level.tail_size - 1, 0
        while done < len(run):
            i = (lo + done) & mask
            n = min(len(run) - done, level.tail_size - i)
            array[level.tail + i : level.tail + i + n] = run[done : done + n]
            done += n


def _move(old: Any, a: int, size: int, new: Any, b: int, to: int, first: int) -> None:
    """A ring of `size` cells at a, from node `first` on, to one of `to` cells at b."""
    lo, hi = first, first + min(size, to)
    while lo < hi:
        i, j = lo & (size - 1), lo & (to - 1)
        n = min(hi - lo, size - i, to - j)
        new[b + j : b + j + n] = old[a + i : a + i + n]
        lo += n


def encode(values: Any) -> bytes | memoryview:
    """A run of nodes as bytes: an array's own, not copied, or objects pickled."""
    if isinstance(values, np.ndarray):
        return values.view(np.uint8).reshape(-1).data if len(values) else b""
    return pickle.dumps(values)


def decode(blob: bytes, layout: Layout | None) -> Any:
    """What `encode` gave; an array is not copied."""
    if layout is None:
        return pickle.loads(blob)
    if layout.length is None:
        return np.frombuffer(blob, layout.array_dtype)
    return np.frombuffer(blob, layout.dtype).reshape(-1, layout.length)
