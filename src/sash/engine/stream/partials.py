"""Partials: the states of a plan as items, lifted, folded and answered in bulk.

A stream keeps partials instead of rows wherever that answers. Two loops serve all of them, compiled
for numbers and plain for objects: `fold` makes one item of neighbouring ones, and `answer_items`
answers windows of items.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.columns import answers_as, numbers, objects, one_array
from sash.engine.combiners import as_arrow, results_of
from sash.engine.expressions import with_derived
from sash.engine.fold import At as FoldAt
from sash.engine.fold import Columns as FoldColumns
from sash.engine.fold import Groups, fold, folded, folded_plain
from sash.engine.inputs import all_known
from sash.engine.stream.counted import counted, counted_objects, inner_monoid, is_typed
from sash.engine.stream.item_windows import At, Columns, answer_items
from sash.engine.stream.items import Items, spread, sums
from sash.kernel.answers import Answers
from sash.kernel.bind import bind_plain
from sash.kernel.compiled import Target, compiled
from sash.kernel.layout import Layout
from sash.kernel.words import Windows
from sash.monoids.monoid import Monoid, same
from sash.plan.plan import Plan, State
from sash.stores.encoding import decode, encode


class PartialState:
    """A state of a plan as items: how rows are lifted, items folded, windows answered."""

    def __init__(self, plan: Plan, state: State, allow_pickle: bool = False) -> None:
        self.plan, self.state = plan, state
        self.columns = state.columns
        self.allow_pickle = allow_pickle
        self._kinds = [plan.schema.field(name).type for name in state.columns]
        self._indexed = state.kind in ("first", "last", "argument") and is_typed(state)
        self._inner = inner_monoid(state) if is_typed(state) else None
        self._kernels: dict[Any, Any] = {}

    @cached_property
    def name(self) -> str:
        """A name for the partials: equal names have equal partials."""
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

    @cached_property
    def is_commutative(self) -> bool:
        """Whether the order of rows does not matter."""
        if self.state.kind in ("count", "known"):
            return True
        return self.state.kind == "combine" and (self._inner or self._monoid).commutative

    @cached_property
    def width(self) -> int | None:
        """Bytes of an item; None of one that is an object."""
        if self.state.kind in ("count", "known"):
            return 8
        return sum(leaf.itemsize for leaf in self._layout.leaves) if self.is_numbers else None

    # From rows to items.

    def lifted(self, table: pa.Table) -> Items:
        """An item for each row; of no rows where an input is null, or a row does not pass."""
        n, columns, passing = table.num_rows, *self._columns(table)
        if passing is None:
            return self._lifted(columns, n)
        places = np.flatnonzero(passing)
        passed = self._lifted([column.filter(pa.array(passing)) for column in columns], len(places))
        return spread(passed, places, self.none(n))

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
        each = np.arange(len(known[0]) + 1)
        columns = [np.ascontiguousarray(numbers(column)) for column in known]
        rows, *leaves = self._folded(columns, Groups(each[:-1], each[1:]), of_items=False)
        found = Items(rows, leaves)
        return found if places is None else spread(found, places, self.none(n))

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
        which has one more number than there are groups. No group is empty."""
        begins = np.ascontiguousarray(begins, np.int64)
        if order is not None:
            items = items.take(order)
        return self.fold_groups(items, Groups(begins[:-1], begins[1:]))

    def fold_groups(self, items: Items, groups: Groups) -> Items:
        """One item for each group of neighbouring items. No group is empty."""
        if self.state.kind in ("count", "known"):
            return Items(sums(items.rows, groups.lo, groups.hi), [])
        if items.objects is not None:
            plain = self._monoid.with_(lift=same, lower=same, typed=None)
            made = folded_plain(plain, items.objects, groups)
            return Items(sums(items.rows, groups.lo, groups.hi), [], made)
        rows, *leaves = self._folded(self._item_columns(items), groups, of_items=True)
        if not self._indexed:
            return Items(rows, leaves)
        assert items.values is not None
        place = pa.array(leaves.pop(), mask=rows == 0)
        return Items(rows, leaves, values=items.values.take(place))

    def _folded(
        self, columns: list[np.ndarray], groups: Groups, of_items: bool
    ) -> list[np.ndarray]:
        return folded(self._kernel(fold, columns, of_items), columns, groups)

    def fold_rows(self, table: pa.Table, groups: Groups) -> Items:
        """One item for each group of neighbouring rows. No group is empty."""
        if self.state.kind == "count" and self.state.condition is None:
            return Items(groups.hi - groups.lo, [])
        if self.is_numbers and not self._indexed and self.state.kind == "combine":
            columns, passing = self._columns(table)
            if passing is None and not any(column.null_count for column in columns):
                values = [np.ascontiguousarray(numbers(column)) for column in columns]
                rows, *leaves = self._folded(values, groups, of_items=False)
                return Items(rows, leaves)
        return self.fold_groups(self.lifted(table), groups)

    def _item_columns(self, items: Items) -> list[np.ndarray]:
        """Items as the loops read them; where the answer is the value of a row, with its place."""
        places = [np.arange(len(items))] if self._indexed else []
        return [np.ascontiguousarray(c) for c in (items.rows, *items.leaves, *places)]

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
        columns = self._item_columns(items)
        kernel = self._kernel(answer_items, columns, of_items=True)
        suffix = np.empty(len(items) + 1, self._layout.array_dtype)
        rows, out = np.empty(n, np.int64), Answers(kernel.answer, n)
        memory, windows = (suffix.ctypes.data, -1, 0), Windows(0, n, lo.ctypes.data, hi.ctypes.data)
        places = tuple(c.ctypes.data for c in columns)
        kernel.run(memory, At(0), places, windows, rows.ctypes.data, out.address)
        return self._as_arrow(items, out, rows == 0)

    def _as_arrow(self, items: Items, out: Answers, empty: np.ndarray) -> list[pa.Array]:
        values, nulls = out.arrays()
        if self._indexed:
            assert items.values is not None
            place = pa.array(np.where(empty, 0, values), mask=empty)
            return [items.values.take(place)]
        kinds, some = results_of(self.plan, self.state), empty if empty.any() else None
        return as_arrow(self.state, kinds, values, nulls, some)

    def _answer_objects(self, items: Items, lo: np.ndarray, hi: np.ndarray) -> list[pa.Array]:
        monoid, n = self._monoid, len(lo)
        assert items.objects is not None
        plain = counted_objects(monoid)
        suffix: list[Any] = [None] * (len(items) + 1)
        rows, out = [0] * n, [monoid.nothing] * n
        run = bind_plain(plain, {})(answer_items)
        memory = Columns(suffix, 0)
        run(memory, At(0), items.objects, Windows(0, n, lo.tolist(), hi.tolist()), rows, out)
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
        return counted(self._inner)

    def _kernel(self, driver: Any, columns: list[np.ndarray], of_items: bool) -> Any:
        inputs = tuple(column.dtype for column in columns)
        key = (driver, inputs, of_items)
        if key not in self._kernels:
            changes: dict[str, Any] = {"lower": same} if driver is fold else {}
            if of_items:
                changes["lift"] = same
            at, kept = (FoldAt, FoldColumns) if driver is fold else (At, Columns)
            monoid = self._flat.with_(**changes)
            target = Target(monoid, self._layout, {}, at, kept, inputs=inputs)
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
        names = set(table.column_names)
        while f"{prefix}{len(leaves)}" in names:
            leaves.append(numbers(one_array(table.column(f"{prefix}{len(leaves)}"))))
        listed = values = None
        if f"{prefix}v" in names:
            values = one_array(table.column(f"{prefix}v"))
        if f"{prefix}o" in names:
            column = one_array(table.column(f"{prefix}o"))
            listed = [decode(x.as_buffer(), allow_pickle=self.allow_pickle) for x in column]
        return Items(numbers(one_array(table.column(f"{prefix}n"))), leaves, listed, values)

    @cached_property
    def _nothing(self) -> Items:
        return self._lifted([pa.array([], kind) for kind in self._kinds], 0)

    def none(self, n: int) -> Items:
        """Items of no rows."""
        made = self._nothing
        nothing = None if made.objects is None else [self._monoid.identity] * n
        values = None if made.values is None else pa.nulls(n, made.values.type)
        return Items(
            np.zeros(n, np.int64), [np.zeros(n, x.dtype) for x in made.leaves], nothing, values
        )


def _zero(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_temporal(kind):
        return pa.scalar(0, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    return pa.scalar(0).cast(kind)
