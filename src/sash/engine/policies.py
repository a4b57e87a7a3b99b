"""Slide policies in tables: windows whose rows are known only as they are combined.

Each key has an AMTA window of its own, which enforces the policy as a row comes. Rows
go in one by one, as plain Python, nulls and all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.columns import answers_as, objects
from sash.monoids.monoid import Monoid, as_monoid
from sash.plan.plan import Plan, State
from sash.swag.amta import AMTA
from sash.windows.frames import Policy


class Run(NamedTuple):
    """Rows `begin` to `end` - 1 and the first row of each key, in the place of bounds."""

    begin: int
    end: int
    keys: np.ndarray
    lo: np.ndarray  # what can be forgotten: all that came before


class ByPolicy:
    """One aggregation over a policy."""

    def __init__(self, plan: Plan, state: State) -> None:
        asked, policy = state.asked[0], plan.frames[state.frame].frame
        assert state.monoid is not None
        assert isinstance(policy, Policy)
        self._monoid, self._policy = beside(state.monoid, policy)
        self._result = asked.result([plan.schema.field(name).type for name in asked.columns])
        self._items: list[Any] = []
        self._held: list[bool] = []
        self._enforced = True
        self._window = self._new_window()
        self.first = np.zeros(0, np.int64)  # the first row of each window of the last answer

    def _new_window(self) -> Any:
        decide = self._policy
        policy = lambda total, old: self._enforced and decide(total, old)  # noqa: E731
        return AMTA(self._monoid, policy=policy, compiled=False)

    def take(self, columns: list[pa.Array]) -> None:
        values = [objects(column) for column in columns]
        self._items += values[0] if len(values) == 1 else list(zip(*values, strict=True))

    def hold(self, held: np.ndarray) -> None:
        """Which of the rows taken last make up the window as a stream left it: they stay."""
        self._held += held.tolist()

    def answer(self, run: Run) -> list[pa.Array]:
        n = run.end - run.begin
        begins, answers, first = set(run.keys.tolist()), [], []
        rows = zip(range(run.begin, run.end), self._items[:n], self._held[:n], strict=True)
        for row, item, held in rows:
            if row in begins:
                self._window = self._new_window()
            self._enforced = not held
            self._window.insert(item)
            answers.append(self._window.query())
            first.append(row + 1 - len(self._window))
        del self._items[:n], self._held[:n]
        self.first = np.array(first, np.int64)
        return [answers_as(answers, None, self._result)]

    def forget(self, row: int) -> None:
        """The window forgets by itself."""


def beside(monoid: Monoid, policy: Policy) -> tuple[Monoid, Any]:
    """What is kept, and the policy over it: of the aggregation, or of a monoid beside it."""
    if policy.of is None:
        return monoid, policy.function
    judge, decide = as_monoid(policy.of), policy.function

    def lift(x: Any) -> Any:
        return (judge.lift(x), monoid.lift(x))

    def combine(a: Any, b: Any) -> Any:
        return (judge.combine(a[0], b[0]), monoid.combine(a[1], b[1]))

    def lower(v: Any) -> Any:
        return monoid.lower(v[1])

    identity = (judge.identity, monoid.identity)
    both = Monoid(f"{judge.name} and {monoid.name}", identity, lift, combine, lower, dtype=object)
    return both, lambda total, old: decide(total[0], old[0])
