"""Policies in a plan: what is kept for a window that a function of its partials evicts from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sash.kernel.layout import Layout
from sash.monoids.monoid import Monoid, as_monoid
from sash.plan.aggregation import Aggregation
from sash.plan.types import number_types
from sash.windows.frames import Policy

Decide = Callable[[Any, Any], bool]


def beside(
    monoid: Monoid, policy: Policy, kinds: list[pa.DataType] | None = None
) -> tuple[Monoid, Decide]:
    """The state that is kept, and the policy over it: of the aggregation, or of a monoid beside it.

    `kinds`: of columns of numbers, for which both are the variants over numbers.
    """
    judge = None if policy.of is None else as_monoid(policy.of)
    dtypes: Any = None if kinds is None else number_types(kinds)
    if dtypes:
        dtypes = dtypes[0] if len(dtypes) == 1 else dtypes
        monoid, judge = monoid.of(dtypes), None if judge is None else judge.of(dtypes)
    if judge is None:
        return monoid, policy.function
    return _both(judge, monoid, typed=dtypes is not None), _of_first(policy.function)


def obeys_typed(a: Aggregation, schema: pa.Schema) -> bool:
    """Whether the partials of an aggregation over a policy, and of its judge, are numbers.

    Not those of the first or the last row, for which a null is a value as any other.
    """
    kinds = [schema.field(name).type for name in a.columns]
    if a.how in ("first", "last") or number_types(kinds) is None:
        return False
    assert isinstance(a.frame, Policy)
    kept, _ = beside(a.combined(), a.frame, kinds)
    layout = Layout.of(kept.identity, kept.dtype)
    return layout is not None and all(part.length is None for part in layout.parts or ())


def _both(judge: Monoid, monoid: Monoid, typed: bool) -> Monoid:
    lift_judge, lift_kept = judge.lift, monoid.lift
    combine_judge, combine_kept, lower_kept = judge.combine, monoid.combine, monoid.lower

    def lift(x: Any) -> Any:
        return (lift_judge(x), lift_kept(x))

    def combine(a: Any, b: Any) -> Any:
        return (combine_judge(a[0], b[0]), combine_kept(a[1], b[1]))

    def lower(v: Any) -> Any:
        return lower_kept(v[1])

    identity = (judge.identity, monoid.identity)
    dtype = (judge.dtype, monoid.dtype) if typed else object
    return Monoid(f"{judge.name} and {monoid.name}", identity, lift, combine, lower, dtype=dtype)


def _of_first(decide: Decide) -> Decide:
    def policy(total: Any, old: Any) -> bool:
        return decide(total[0], old[0])

    return policy
