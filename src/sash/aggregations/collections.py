"""Values as lists and text: all, the first, the last, the largest; distinct, and in an order.

Their states are the values themselves, so they run as plain Python and a combine copies both
sides; those that keep `k` values cost about k.
"""

from __future__ import annotations

from typing import Any

from sash import monoids as m
from sash.aggregations.kinds import as_list, is_ordered, is_text, like
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Input


def _in_order(monoid: m.Monoid, column: Input, order_by: str | None, descending: bool) -> Any:
    """The columns and the monoid of an aggregation with SQL's ORDER BY in it."""
    if order_by is None:
        if descending:
            raise ValueError(f'descending=True of {column!r}: by what? Give order_by="…" too')
        return (column,), monoid
    return (column, order_by), m.Ordered(monoid, descending=descending)


def collect_list(
    column: Input, order_by: str | None = None, descending: bool = False
) -> Aggregation:
    """All values that are not null, from older to younger, or in the order of a column.

    A combine copies both lists.

    >>> from sash.testing import running
    >>> running(collect_list("x", order_by="n"), x=["b", "a", None], n=[2, 1, 0])
    [['b'], ['a', 'b'], ['a', 'b']]
    """
    columns, monoid = _in_order(m.Collect(), column, order_by, descending)
    return Aggregation("collect_list", columns, monoid, result=as_list)


array_agg = collect_list


def collect_set(column: Input) -> Aggregation:
    """The distinct values that are not null, in order of first arrival; -0.0 is 0.0.

    A combine copies both sets.

    >>> from sash.testing import running
    >>> running(collect_set("x"), x=["b", "a", "b"])
    [['b'], ['b', 'a'], ['b', 'a']]
    """
    return Aggregation("collect_set", (column,), m.CollectDistinct(), result=as_list)


def listagg(
    column: Input,
    delimiter: str = "",
    distinct: bool = False,
    order_by: str | None = None,
    descending: bool = False,
) -> Aggregation:
    """The strings that are not null, joined from older to younger, or in the order of a column.

    `distinct`: each string once. Null where there are none. A combine copies both texts.

    >>> from sash.testing import running
    >>> running(listagg("x", ", ", order_by="n"), x=["b", "a"], n=[2, 1])
    ['b', 'a, b']
    """
    joined = m.Concat(delimiter)
    inner = m.Distinct(joined) if distinct else joined
    columns, monoid = _in_order(inner, column, order_by, descending)
    return Aggregation(
        "listagg", columns, monoid, result=like, accepts=is_text, takes="a column of text"
    )


string_agg = listagg


def first_k(column: Input, k: int) -> Aggregation:
    """The `k` oldest values that are not null, from older to younger. A combine copies k.

    >>> from sash.testing import running
    >>> running(first_k("x", 2), x=[5, 6, 7])
    [[5], [5, 6], [5, 6]]
    """
    return Aggregation("first_k", (column,), m.FirstN(k), result=as_list)


def last_k(column: Input, k: int) -> Aggregation:
    """The `k` youngest values that are not null, from older to younger. A combine copies k.

    >>> from sash.testing import running
    >>> running(last_k("x", 2), x=[5, 6, 7])
    [[5], [5, 6], [6, 7]]
    """
    return Aggregation("last_k", (column,), m.LastN(k), result=as_list)


def last_distinct(column: Input, k: int) -> Aggregation:
    """The `k` distinct values that came last, in order of their last arrival.

    A combine copies k values.

    >>> from sash.testing import running
    >>> running(last_distinct("x", 2), x=["a", "b", "a", "c"])
    [['a'], ['a', 'b'], ['b', 'a'], ['a', 'c']]
    """
    return Aggregation("last_distinct", (column,), m.LastDistinct(k), result=as_list)


def top_k(column: Input, k: int) -> Aggregation:
    """The `k` largest values, the largest first; NaN is larger than any number.

    A combine merges two lists of up to k values.

    >>> from sash.testing import running
    >>> running(top_k("x", 2), x=[5, 7, 6])
    [[5], [7, 5], [7, 6]]
    """
    return Aggregation(
        "top_k", (column,), m.TopK(k), result=as_list,
        accepts=is_ordered, takes="a column that has an order",
    )  # fmt: skip


def concat(column: Input, separator: str = "") -> Aggregation:
    """The strings, one after the other from older to younger.

    >>> from sash.testing import running
    >>> running(concat("x", "-"), x=["a", "b", "c"])
    ['a', 'a-b', 'a-b-c']
    """
    return Aggregation("concat", (column,), m.Concat(separator), result=like)
