"""State: a tree, the kind of its times, and operations that are undone when they fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sash.kernel import Layout
from sash.monoids.monoid import Monoid
from sash.monoids.recipe import whole
from sash.swag import snapshot
from sash.swag.fiba import times
from sash.swag.fiba.check import Checker
from sash.swag.fiba.memory import TreeMemory
from sash.swag.fiba.nodes import block_size
from sash.swag.fiba.steps import steps_of
from sash.swag.fiba.tree import EPOCH, HEIGHT, ROOT, USED, USED_KIDS, is_empty, oldest
from sash.swag.inputs import check_null, columns_of, has_nulls, is_numeric
from sash.swag.parts import Node, Part
from sash.swag.window import Use, Window

MARKS = 2**31 - 1  # operations that can be told apart


class TreeState(Window):
    """A window that is a tree of entries (time, partial)."""

    def __init__(self, monoid: Any, min_arity: int = 8, *, compiled: bool | None = None) -> None:
        self.min_arity = whole("FiBA", "min_arity", min_arity, 2)
        super().__init__(monoid, compiled=compiled)

    def _adopt(self, monoid: Monoid, inputs: Any) -> None:
        self._monoid, self._inputs = monoid, inputs
        self._layout = Layout.of(monoid.identity, monoid.dtype)
        self._steps = steps_of(monoid, self._layout)
        self._checked = self._layout is None
        self._work = 0.0
        self._reached = 0  # the row after the last that `follow` has inserted
        self._clock = times.INT
        self._new_memory(object_times=False)

    def _new_memory(self, object_times: bool) -> None:
        self._memory = TreeMemory(self._layout, self._monoid.identity, self.min_arity, object_times)
        self._epoch = self._changes = 0
        self._forget_quick_ways()
        self._steps.start(self._memory.plain, self._steps.new_leaf(self._memory.plain))

    def _forget_quick_ways(self) -> None:
        """No compiled code is entered directly until the kind of times is settled again."""
        self._quick_evict: Callable[..., Any] | None = None
        self._quick_insert: tuple[Any, Callable[..., Any]] = (None, len)

    @property
    def _q(self) -> Any:
        return self._memory.plain

    def __len__(self) -> int:
        return int(self._steps.size(self._q))

    @property
    def nbytes(self) -> int:
        """How many bytes the tree's arrays take; objects are counted by their pointers."""
        return self._memory.nbytes

    def check(self) -> None:
        """Height, order, arity, flags, links, every aggregate; that no node is lost. O(n)."""
        for problem in Checker(self._q, self._monoid).problems():
            self._require(False, problem)

    def parts(self) -> list[Part]:
        with Use(self):
            return list(Checker(self._q, self._monoid).parts())

    def nodes(self) -> list[Node]:
        """The tree's nodes with their entries, from the root down."""
        with Use(self):
            clock = self._clock
            tree = Checker(self._q, self._monoid).tree(lambda key: times.time_of(clock, key))
            return list(tree)

    @property
    def options(self) -> dict[str, Any]:
        return {"min_arity": self.min_arity}

    def _dump(self) -> str:
        return "\n".join(Checker(self._q, self._monoid).drawing(self._q.head[ROOT]))

    def _admit(self, kind: str, ts: Any) -> Any:
        """`ts`, of `kind`, as this tree keeps times; where it must, it keeps others from now on."""
        if kind == self._clock:
            return ts
        self._forget_quick_ways()
        if is_empty(self._q):
            if (kind == times.OBJECT) != self._memory.object_times:
                self._new_memory(kind == times.OBJECT)
            self._clock = kind
            return ts
        fitting = times.as_kind(self._clock, kind, ts)
        if fitting is not None:
            return fitting
        kept = self._memory.columns["time"].cells
        floats = times.as_kind(times.FLOAT, self._clock, kept) if kind == times.FLOAT else None
        if floats is not None:
            self._memory.set_times(times.keys_of(times.FLOAT, floats))
            self._clock = times.FLOAT
            return ts
        one = times.time_of(self._clock, self._q.time[oldest(self._q)])
        for t in ts:
            t < one  # noqa: B015 (TypeError, before anything is changed)
        self._memory.set_times(times.decoded(self._clock, kept))
        self._clock = times.OBJECT
        return times.as_kind(times.OBJECT, kind, ts)

    def _key(self, t: Any) -> Any:
        """The key of one time that is to be inserted."""
        kind = times.kind_of(t)
        fitting = t if kind == self._clock else self._admit(kind, [t])[0]
        return times.key_of(self._clock, fitting)

    def _make_room(self) -> None:
        """Rows for a single insert, and for what the journal saves in it or in an evict."""
        head = self._memory.head
        levels = head[HEIGHT] + 2
        rows = head[USED] + levels + block_size(head[USED_KIDS] + levels)
        kids = head[USED_KIDS] + levels
        saved = 8 * levels
        self._memory.enlarge(rows + min(head[USED], saved), kids + min(head[USED_KIDS], saved))

    def _atomically(self, step: Callable[..., Any], *arguments: Any) -> Any:
        """Run a plain step; if it fails, the tree is as it was."""
        self._make_room()
        q = self._memory.plain
        self._begin()
        try:
            return step(q, *arguments)
        except BaseException:
            self._steps.undo(q)
            raise
        finally:
            self._memory.head[EPOCH] = 0

    def _begin(self) -> None:
        """Number an operation, so that it can be undone."""
        self._epoch += 1
        if self._epoch == MARKS:
            self._memory.columns["mark"].cells[:] = 0
            self._epoch = 1
        self._steps.begin(self._memory.plain, self._epoch)

    def _columns(self, xs: Any) -> tuple[np.ndarray, ...] | None:
        """`xs` as arrays of numbers if it is to run compiled; types an empty window."""
        if self._compiled is False or not is_numeric(xs) or has_nulls(xs):
            return None
        columns = columns_of(xs)
        if columns is None or len(columns[0]) == 0:
            return None
        kinds = tuple(c.dtype for c in columns)
        if self._layout is None and is_empty(self._q):
            typed = self.monoid.of(kinds[0] if len(kinds) == 1 else kinds)
            if typed is not self.monoid:
                self._adopt(typed, kinds)
        return columns if self._layout is not None else None

    def _lifted(self, x: Any) -> Any:
        if x is None:
            check_null(self.monoid, self._monoid)
        v = self._monoid.lift(x)
        if not self._checked:
            assert self._layout is not None
            self._layout.check(v, f"lift of monoid {self.monoid.name!r}")
            both = self._monoid.combine(self._monoid.identity, v)
            self._layout.check(both, f"combine of monoid {self.monoid.name!r}")
            self._checked = True
        return v

    def _state(self) -> dict[str, Any]:
        return {
            "inputs": snapshot.inputs_of(self._inputs),
            "min_arity": self.min_arity,
            "times": self._clock,
            "room": self._memory.dump(),
        }

    def _set_state(self, state: dict[str, Any]) -> None:
        self.min_arity = whole("FiBA", "min_arity", state["min_arity"], 2)
        kinds, monoid = snapshot.kinds_of(state["inputs"]), self.monoid
        if kinds is not None:
            monoid = monoid.of(kinds[0] if len(kinds) == 1 else kinds)
        self._adopt(monoid, kinds)
        self._clock = times.known_kind(state["times"])
        if self._clock == times.OBJECT:
            self._new_memory(object_times=True)
        self._memory.load(state["room"])
