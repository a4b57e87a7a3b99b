"""Partials: states over some rows as columns of values, folded and answered in bulk.

A stream keeps partials instead of rows wherever that answers: of a bulk's rows per key, of
neighbouring bulks, of slices, of the window that a key has so far. All of them are *items*,
and so is a single row once it is lifted. Two loops serve them all, written once, compiled
for numbers and plain for objects:

    fold          groups of items to one item each
    answer_items  windows of items, both ends moving on, to answers: Two-Stacks with all
                  bounds known, three combines per item at most
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.columns import answers_as, filled, numbers, objects, one_array
from sash.engine.expressions import with_derived
from sash.engine.inputs import all_known
from sash.kernel.answers import Answers
from sash.kernel.bind import bind_plain
from sash.kernel.compiled import Target, compiled
from sash.kernel.layout import Layout
from sash.kernel.words import (
    Address,
    InputColumns,
    Memory,
    Outputs,
    Partials,
    attach,
    combine,
    get,
    give,
    item,
    lift,
    lower,
    one,
    put,
)
from sash.kernel.words import (
    numbers as integers,
)
from sash.monoids.extremes import second
from sash.monoids.monoid import Monoid, same
from sash.monoids.order import above
from sash.plan.plan import Plan, State, by_row
from sash.stores.encoding import decode, encode

INT64 = np.dtype(np.int64)


class Columns(NamedTuple):
    """What the loops write to besides answers: the suffixes of the front list."""

    suffix: Partials
    held: int


class At(NamedTuple):
    """Nothing is kept from call to call."""

    done: int


def fold(
    memory: Memory,
    at: At,
    xs: InputColumns,
    groups: int,
    begins: Address,
    order: Address,
    out: Outputs,
) -> At:
    """Combine the items order[begins[g]] to order[begins[g + 1] - 1] of each group, in order."""
    q = attach(memory)
    first, place = integers(begins), integers(order)
    for g in range(groups):
        total = one(q)
        for i in range(first[g], first[g + 1]):
            total = combine(total, lift(q, item(xs, place[i])))
        give(out, g, lower(total))
    return at


def answer_items(
    memory: Memory,
    at: At,
    xs: InputColumns,
    n: int,
    lo: Address,
    hi: Address,
    known: Address,
    out: Outputs,
) -> At:
    """For windows of items lo[i] to hi[i] - 1, both growing: how many rows are in, and the answer.

    Items from `lo` up to the anchor are kept as suffixes, combined up to it; those after it
    are combined as they come. A window that begins at the anchor or later makes a new one.
    """
    q = attach(memory)
    begins, ends, rows = integers(lo), integers(hi), integers(known)
    anchor = end = 0
    back = one(q)
    for i in range(n):
        rows[i] = 0
        if begins[i] < ends[i]:
            if begins[i] >= anchor:
                anchor = end = ends[i]
                back = one(q)
                total = one(q)
                j = anchor - 1
                while j >= begins[i]:
                    total = put(q.suffix, j, combine(lift(q, item(xs, j)), total))
                    j -= 1
            while end < ends[i]:
                back = combine(back, lift(q, item(xs, end)))
                end += 1
            total = combine(get(q.suffix, begins[i]), back)
            rows[i] = total[0]
            if total[0] > 0:
                give(out, i, lower(total))
    return at


@dataclass
class Items:
    """Partials of one state: how many rows each is of, and its numbers, or its object.

    `values`: where the answer is the value of some row, that value for each item.
    """

    rows: np.ndarray
    leaves: list[np.ndarray]
    objects: list[Any] | None = None
    values: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, places: np.ndarray) -> Items:
        """Some of the items, in another order."""
        return Items(
            self.rows[places],
            [leaf[places] for leaf in self.leaves],
            None if self.objects is None else [self.objects[i] for i in places.tolist()],
            None if self.values is None else self.values.take(pa.array(places)),
        )

    def slice(self, first: int, stop: int) -> Items:
        """Neighbouring items; nothing is copied."""
        return Items(
            self.rows[first:stop],
            [leaf[first:stop] for leaf in self.leaves],
            None if self.objects is None else self.objects[first:stop],
            None if self.values is None else self.values.slice(first, stop - first),
        )

    @staticmethod
    def concat(parts: Sequence[Items]) -> Items:
        """The items of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        listed = None if first.objects is None else [x for p in parts for x in p.objects or ()]
        values = None
        if first.values is not None:
            values = pa.concat_arrays([p.values for p in parts])
        return Items(
            np.concatenate([p.rows for p in parts]),
            [np.concatenate(leaves) for leaves in zip(*(p.leaves for p in parts), strict=True)],
            listed,
            values,
        )


class PartialState:
    """A state of a plan as items: how rows are lifted, items folded, windows answered."""

    def __init__(self, plan: Plan, state: State, allow_pickle: bool = False) -> None:
        self.plan, self.state = plan, state
        self.columns = state.columns
        self.allow_pickle = allow_pickle
        self._kinds = [plan.schema.field(name).type for name in state.columns]
        self._indexed = state.kind in ("first", "last", "argument") and _typed(state)
        self._inner = inner_monoid(state) if _typed(state) else None
        self._kernels: dict[Any, Any] = {}

    @cached_property
    def name(self) -> str:
        """What the partials are of: equal names have equal partials."""
        passing = "" if self.state.condition is None else f" where {self.state.condition}"
        return f"{self.state.kind} {','.join(self.columns)}{passing} {self._digest}"

    @cached_property
    def _digest(self) -> str:
        if self._inner is not None:
            return self._inner.with_(lower=same).digest
        monoid = self.state.asked[0].monoid
        return "" if monoid is None else monoid.with_(lower=same).digest

    @cached_property
    def reads(self) -> list[str]:
        """The columns that rows need to be lifted."""
        return self.plan.columns if self._derived else self._names

    @cached_property
    def _names(self) -> list[str]:
        condition = self.state.condition
        return [*self.columns, *(() if condition is None else (condition,))]

    @cached_property
    def _derived(self) -> bool:
        return any(name in self.plan.query.derived for name in self._names)

    @cached_property
    def is_numbers(self) -> bool:
        """Whether items are numbers, so that the loops run compiled."""
        if self.state.kind in ("count", "known"):
            return True
        return self._inner is not None

    # From rows to items.

    def lifted(self, table: pa.Table) -> Items:
        """An item for each row; of no rows where an input is null."""
        n, columns, passing = table.num_rows, *self._columns(table)
        found = self._lifted(columns, n)
        if passing is None:
            return found
        if found.objects is not None:
            nothing = self._monoid.identity
            found.objects = [x if p else nothing for x, p in zip(found.objects, passing.tolist())]
        found.rows = np.where(passing, found.rows, 0)
        return found

    def _columns(self, table: pa.Table) -> tuple[list[pa.Array], np.ndarray | None]:
        """The columns that are aggregated, and which rows pass the condition, if there is one."""
        condition = self.state.condition
        there = {name: one_array(table.column(name)) for name in self.reads}
        if self._derived:
            there = with_derived(self.plan, there)
        passing = None if condition is None else np.asarray(pc.fill_null(there[condition], False))
        return [there[name] for name in self.columns], passing

    def _lifted(self, columns: list[pa.Array], n: int) -> Items:
        if self.state.kind == "count":
            return Items(np.ones(n, np.int64), [])
        if self.state.kind == "known":
            return Items(np.asarray(pc.is_valid(columns[0])).astype(np.int64), [])
        if not self.is_numbers:
            return self._lifted_objects(columns)
        if self._indexed:
            return self._lifted_places(columns)
        known = all_known(columns)
        places = None
        if known[0].null_count:
            places = np.flatnonzero(np.asarray(pc.is_valid(known[0])))
            known = [column.drop_null() for column in known]
        found = self._fold([numbers(column) for column in known], np.arange(len(known[0]) + 1))
        return found if places is None else _spread(found, places, n)

    def _lifted_places(self, columns: list[pa.Array]) -> Items:
        """The measure if there is one, and as the value the row's own."""
        n, values = len(columns[-1]), columns[-1]
        if self.state.kind != "argument":
            return Items(np.ones(n, np.int64), [], values=values)
        rows = np.asarray(pc.is_valid(columns[0])).astype(np.int64)
        measure = (
            columns[0].fill_null(_zero(columns[0].type)) if columns[0].null_count else columns[0]
        )
        kept = self._layout.leaves[1]
        return Items(rows, [numbers(measure).astype(kept, copy=False)], values=values)

    def _lifted_objects(self, columns: list[pa.Array]) -> Items:
        values = [objects(column) for column in columns]
        given = values[0] if len(values) == 1 else list(zip(*values, strict=True))
        lift_one = self._monoid.lift
        return Items(np.ones(len(given), np.int64), [], [lift_one(x) for x in given])

    @property
    def _monoid(self) -> Monoid:
        """The monoid over objects."""
        monoid = self.state.asked[0].monoid
        assert monoid is not None
        return monoid

    # From items to items.

    def fold(self, items: Items, begins: np.ndarray, order: np.ndarray | None = None) -> Items:
        """One item for each group of neighbouring items in `order`; a group begins at `begins`,
        which has one more number than there are groups."""
        if order is None:
            order = np.arange(len(items))
        begins = np.ascontiguousarray(begins, np.int64)
        if self.state.kind in ("count", "known"):
            return Items(_sums(items.rows[order], begins), [])
        if not self.is_numbers:
            return self._fold_objects(items, begins, order)
        columns = [items.rows, *items.leaves]
        if self._indexed:
            columns.append(np.arange(len(items)))
        found = self._fold(columns, begins, np.ascontiguousarray(order), of_items=True)
        if not self._indexed:
            return found
        place = np.where(found.rows > 0, found.leaves[-1], 0)
        assert items.values is not None
        values = items.values.take(pa.array(place, mask=found.rows == 0))
        return Items(found.rows, found.leaves[:-1], values=values)

    def _fold(
        self, columns: list[np.ndarray], begins: np.ndarray, order: np.ndarray | None = None,
        of_items: bool = False,
    ) -> Items:  # fmt: skip
        groups = len(begins) - 1
        if order is None:
            order = np.arange(max(1, len(columns[0])))
        kernel = self._kernel(fold, columns, of_items, lowered=False)
        out = Answers(kernel.answer, groups)
        columns = [np.ascontiguousarray(c) if len(c) else np.zeros(1, c.dtype) for c in columns]
        kernel.run(
            (0, -1, 0), At(0), tuple(c.ctypes.data for c in columns), groups,
            begins.ctypes.data, order.ctypes.data, out.address,
        )  # fmt: skip
        leaves = [np.ascontiguousarray(out.values[name]) for name in out.values.dtype.names or ()]
        return Items(leaves[0], leaves[1:])

    def _fold_objects(self, items: Items, begins: np.ndarray, order: np.ndarray) -> Items:
        groups = len(begins) - 1
        out: list[Any] = [None] * groups
        plain = self._monoid.with_(lift=same, lower=same, typed=None)
        run = bind_plain(plain, {})(fold)
        run(None, At(0), items.objects, groups, begins.tolist(), order.tolist(), out)
        return Items(_sums(items.rows[order], begins), [], out)

    # From items to answers.

    def answer(self, items: Items, lo: np.ndarray, hi: np.ndarray) -> list[pa.Array]:
        """For windows of items an array for each aggregation that reads the state."""
        lo, hi = np.ascontiguousarray(lo, np.int64), np.ascontiguousarray(hi, np.int64)
        if self.state.kind in ("count", "known"):
            total = np.append(0, np.cumsum(items.rows))
            return [pa.array(total[hi] - total[np.minimum(lo, hi)])]
        if not self.is_numbers:
            return self._answer_objects(items, lo, hi)
        n = len(lo)
        columns = [items.rows, *items.leaves]
        if self._indexed:
            columns.append(np.arange(len(items)))
        kernel = self._kernel(answer_items, columns, True, lowered=True)
        columns = [np.ascontiguousarray(c) if len(c) else np.zeros(1, c.dtype) for c in columns]
        suffix = np.empty(len(items) + 1, self._layout.array_dtype)
        rows, out = np.empty(n, np.int64), Answers(kernel.answer, n)
        kernel.run(
            (suffix.ctypes.data, -1, 0), At(0), tuple(c.ctypes.data for c in columns), n,
            lo.ctypes.data, hi.ctypes.data, rows.ctypes.data, out.address,
        )  # fmt: skip
        return self._as_arrow(items, out, rows == 0)

    def _as_arrow(self, items: Items, out: Answers, empty: np.ndarray) -> list[pa.Array]:
        values, nulls = out.arrays()
        if self._indexed:
            assert items.values is not None
            place = pa.array(np.where(empty, 0, values), mask=empty)
            return [items.values.take(place)]
        asked, nothing = self.state.asked, self.state.nothing
        if len(asked) == 1:
            parts = [(values, nulls)]
        else:
            names = values.dtype.names or ()
            parts = [
                (values[name], None if nulls is None else nulls[:, i : i + 1])
                for i, name in enumerate(names)
            ]
        found = []
        for a, (value, null), none in zip(asked, parts, nothing, strict=True):
            if empty.any():
                value[empty] = np.zeros(1, value.dtype)[0]
            kind = a.result([self.plan.schema.field(c).type for c in a.columns])
            found.append(filled(answers_as(value, null, kind), empty, none))
        return found

    def _answer_objects(self, items: Items, lo: np.ndarray, hi: np.ndarray) -> list[pa.Array]:
        monoid, n = self._monoid, len(lo)
        assert items.objects is not None
        counted = _counted_objects(monoid)
        suffix: list[Any] = [None] * (len(items) + 1)
        rows, out = [0] * n, [monoid.nothing] * n
        run = bind_plain(counted, {})(answer_items)
        memory = Columns(suffix, 0)
        run(memory, At(0), items.objects, n, lo.tolist(), hi.tolist(), rows, out)
        kind = self.state.asked[0].result(self._kinds)
        return [answers_as(out, None, kind)]

    # Compiled code.

    @cached_property
    def _layout(self) -> Layout:
        monoid = self._flat
        layout = Layout.of(monoid.identity, monoid.dtype)
        assert layout is not None
        return layout

    @cached_property
    def _flat(self) -> Monoid:
        assert self._inner is not None
        return flat_monoid(self._inner)

    def _kernel(self, driver: Any, columns: list[np.ndarray], of_items: bool, lowered: bool) -> Any:
        inputs = tuple(column.dtype for column in columns)
        key = (driver, inputs, of_items)
        if key not in self._kernels:
            monoid = self._flat
            changes: dict[str, Any] = {} if lowered else {"lower": same}
            if of_items:
                changes["lift"] = same
            target = Target(monoid.with_(**changes), self._layout, {}, At, Columns, inputs=inputs)
            self._kernels[key] = compiled(driver, target)
        return self._kernels[key]

    # As columns of a page.

    def columns_of(self, items: Items, prefix: str) -> dict[str, pa.Array]:
        """Items as columns of a table."""
        found = {f"{prefix}n": pa.array(items.rows)}
        found |= {f"{prefix}{i}": pa.array(leaf) for i, leaf in enumerate(items.leaves)}
        if items.values is not None:
            found[f"{prefix}v"] = items.values
        if items.objects is not None:
            listed = [encode(x, allow_pickle=self.allow_pickle) for x in items.objects]
            found[f"{prefix}o"] = pa.array(listed, pa.large_binary())
        return found

    def items_of(self, table: pa.Table, prefix: str) -> Items:
        """The items that `columns_of` gave."""
        leaves: list[np.ndarray] = []
        while f"{prefix}{len(leaves)}" in table.column_names:
            leaves.append(numbers(one_array(table.column(f"{prefix}{len(leaves)}"))))
        listed = values = None
        if f"{prefix}v" in table.column_names:
            values = one_array(table.column(f"{prefix}v"))
        if f"{prefix}o" in table.column_names:
            column = one_array(table.column(f"{prefix}o"))
            listed = [decode(x.as_buffer(), allow_pickle=self.allow_pickle) for x in column]
        return Items(numbers(one_array(table.column(f"{prefix}n"))), leaves, listed, values)

    def none(self, n: int) -> Items:
        """Items of no rows."""
        empty = self.plan.schema.empty_table()
        made = self.lifted(empty)
        nothing = None if made.objects is None else [self._monoid.identity] * n
        values = None if made.values is None else pa.nulls(n, made.values.type)
        return Items(
            np.zeros(n, np.int64), [np.zeros(n, x.dtype) for x in made.leaves], nothing, values
        )


def _typed(state: State) -> bool:
    if state.kind in ("first", "last"):
        return True
    if not state.typed or state.monoid is None:
        return False
    layout = Layout.of(state.monoid.identity, state.monoid.dtype)
    return layout is not None and layout.length is None


def first_of(a: Any, b: Any) -> Any:
    """The older one."""
    return a


def last_of(a: Any, b: Any) -> Any:
    """The younger one."""
    return b


def inner_monoid(state: State) -> Monoid:
    """The monoid over numbers whose partials are kept; of first and last, over places of items."""
    if state.kind in ("first", "last"):
        choose = first_of if state.kind == "first" else last_of
        return Monoid(state.kind, 0, same, choose, dtype=INT64)
    assert state.monoid is not None
    if state.kind == "argument":
        layout = Layout.of(state.monoid.identity, state.monoid.dtype)
        assert layout is not None
        largest = state.asked[0].monoid is not None and by_row(state.asked[0]).name == "ArgMax"
        better = better_of_largest if largest else better_of_smallest
        measure = layout.leaves[1]
        identity = (measure.type(0).item(), 0)
        return Monoid(state.monoid.name, identity, same, better, second, dtype=(measure, INT64))
    return state.monoid


def better_of_largest(a: Any, b: Any) -> Any:
    """The pair with the larger measure, the older of equals."""
    return b if above(b[0], a[0]) else a


def better_of_smallest(a: Any, b: Any) -> Any:
    """The pair with the smaller measure, the older of equals."""
    return b if above(a[0], b[0]) else a


def flat_monoid(inner: Monoid) -> Monoid:
    """`inner` with a count of rows before its numbers, all in one flat tuple.

    Over no rows the count is zero, and what is combined with it stays as it is.
    """
    layout = Layout.of(inner.identity, inner.dtype)
    assert layout is not None
    n = len(layout.leaves)
    whole = {x: layout.expression([f"{x}[{i + 1}]" for i in range(n)]) for x in "abv"}
    parts = ", ".join(layout.paths("s"))
    scope: dict[str, Any] = {"__name__": __name__, "inner": inner.combine}
    scope |= {"inner_lift": inner.lift, "inner_lower": inner.lower}
    text = (
        f"def lift(x):\n    s = inner_lift(x)\n    return (1, {parts},)\n"
        "def combine(a, b):\n"
        "    if a[0] == 0:\n        return b\n"
        "    if b[0] == 0:\n        return a\n"
        f"    s = inner({whole['a']}, {whole['b']})\n"
        f"    return (a[0] + b[0], {parts},)\n"
        f"def lower(v):\n    return inner_lower({whole['v']})\n"
    )
    exec(compile(text, "<sash.engine.stream.partials>", "exec"), scope)
    zeros = tuple(dtype.type(0).item() for dtype in layout.leaves)
    return Monoid(
        f"{inner.name}, counted", (0, *zeros), scope["lift"], scope["combine"], scope["lower"],
        dtype=(INT64, *layout.leaves),
    )  # fmt: skip


def _counted_objects(monoid: Monoid) -> Monoid:
    """The monoid over partials that are objects, in the shape that `answer_items` reads."""
    both, down = monoid.combine, monoid.lower

    def lift_one(x: Any) -> Any:
        return (1, x)

    def combine_both(a: Any, b: Any) -> Any:
        if a[0] == 0:
            return b
        return a if b[0] == 0 else (1, both(a[1], b[1]))

    def lower_one(v: Any) -> Any:
        return down(v[1])

    return Monoid(monoid.name, (0, None), lift_one, combine_both, lower_one, dtype=object)


def _spread(items: Items, places: np.ndarray, n: int) -> Items:
    """Items at some places of n, and none of any rows elsewhere."""
    rows, leaves = np.zeros(n, np.int64), [np.zeros(n, leaf.dtype) for leaf in items.leaves]
    rows[places] = items.rows
    for whole, leaf in zip(leaves, items.leaves, strict=True):
        whole[places] = leaf
    return Items(rows, leaves)


def _sums(values: np.ndarray, begins: np.ndarray) -> np.ndarray:
    total = np.append(0, np.cumsum(values))
    return total[begins[1:]] - total[begins[:-1]]


def _zero(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_temporal(kind):
        return pa.scalar(0, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    return pa.scalar(0).cast(kind)
