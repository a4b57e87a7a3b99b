"""Categories: one partial per category, combined key by key.

A map from keys to partials is a monoid again. With counts it is a multiset of values, from
which the mode, exact percentiles and the median absolute deviation are lowered, so these
share one state. A map is an object, so all of these run as plain Python; a combine copies
both maps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sash.monoids.distinct import key, positive_zero
from sash.monoids.monoid import Monoid, as_monoid
from sash.monoids.order import above
from sash.monoids.ranks import INTERPOLATIONS, at_share, by_rank
from sash.monoids.recipe import entry, whole
from sash.monoids.sums import one_if_known, plus
from sash.monoids.variants import nullable

Map = dict[Any, tuple[Any, Any]]
"""key -> (the category as it first came, its partial)"""


def ByCategory(monoid: Any, inputs: int = 1) -> Monoid:
    """`monoid` over the items of each category, as (category, answer) pairs.

    Items are (value, category), with `inputs` values before the category; with no inputs
    an item is the category alone. Items without a category are left out; categories come
    in the order of their first arrival.

    >>> from sash import monoids as m
    >>> w = ByCategory(m.Sum())
    >>> w.lower(w.combine(w.lift((5, "visa")), w.combine(w.lift((1, "amex")), w.lift((2, "visa")))))
    [('visa', 7), ('amex', 1)]
    """
    inner, inputs = as_monoid(monoid), whole("ByCategory", "inputs", inputs, 0)
    lift_one, lower_one = inner.lift, inner.lower

    def category(x: Any) -> Any:
        return x if inputs == 0 else x[inputs]

    def lift(x: Any) -> Map:
        given = x if inputs == 0 else x[0] if inputs == 1 else tuple(x[:inputs])
        return entry_of(category(x), lift_one(given))

    def skips(x: Any) -> bool:
        return x is None or category(x) is None

    def lower(v: Map) -> list[tuple[Any, Any]]:
        return [(name, lower_one(partial)) for name, partial in v.values()]

    made = nullable("ByCategory", lift, merging(inner.combine), lower, empty=list, skips=skips)
    return entry(ByCategory, made, monoid=inner, inputs=inputs)


def entry_of(category: Any, partial: Any) -> Map:
    """A map of one category."""
    return {key(category): (positive_zero(category), partial)}


def merging(combine: Callable[[Any, Any], Any]) -> Callable[[Map, Map], Map]:
    """`combine` of the partials of each key."""

    def merged(a: Map, b: Map) -> Map:
        out = dict(a)
        for k, (category, partial) in b.items():
            known = out.get(k)
            out[k] = (
                (category, partial) if known is None else (known[0], combine(known[1], partial))
            )
        return out

    return merged


merged_counts = merging(plus)


def once(x: Any) -> Map:
    """The multiset of one value."""
    return entry_of(x, one_if_known(x))


def _multiset(name: str, lower: Callable[[Map], Any], empty: Any = None) -> Monoid:
    return nullable(name, once, merged_counts, lower, empty=empty)


def Histogram() -> Monoid:
    """How often each value occurs, as (value, count) pairs in order of the values.

    >>> w = Histogram()
    >>> w.lower(w.combine(w.lift("b"), w.combine(w.lift("a"), w.lift("b"))))
    [('a', 1), ('b', 2)]
    """
    return entry(Histogram, _multiset("Histogram", by_rank_of_value, list))


def by_rank_of_value(v: Map) -> list[tuple[Any, int]]:
    """The values of a multiset with their counts, in order."""
    return sorted(v.values(), key=by_rank)


def Mode() -> Monoid:
    """The most frequent value, the smallest of equally frequent ones.

    >>> w = Mode()
    >>> w.lower(w.combine(w.lift("b"), w.combine(w.lift("a"), w.lift("b"))))
    'b'
    """
    return entry(Mode, _multiset("Mode", most_frequent))


def most_frequent(v: Map) -> Any:
    """The value with the highest count, the smallest of several."""
    pairs = iter(v.values())
    best, most = next(pairs)
    for value, count in pairs:
        if count > most or (count == most and above(best, value)):
            best, most = value, count
    return best


def Percentile(share: float, interpolation: str = "linear") -> Monoid:
    """The exact percentile at `share`, from 0 to 1; between two values, by `interpolation`.

    Its names are NumPy's: "linear" and "midpoint" give a double; "lower", "higher" and
    "nearest" (of two equally near, the one at the even place) give one of the values.
    "approx" gives the first value that at least a share of all is not above.

    >>> w = Percentile(0.5, "higher")
    >>> w.lower(w.combine(w.lift(4), w.lift(1)))
    4
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise ValueError(f"Percentile: share must be a number from 0 to 1, not {share!r}")
    if interpolation not in INTERPOLATIONS:
        known = ", ".join(INTERPOLATIONS)
        raise ValueError(f"Percentile: interpolation must be one of {known}, not {interpolation!r}")

    def lower(v: Map) -> Any:
        return at_share(by_rank_of_value(v), share, interpolation)

    made = _multiset("Percentile", lower)
    return entry(Percentile, made, share=share, interpolation=interpolation)


def MedianDeviation() -> Monoid:
    """The median absolute deviation: the median of the distances from the median, a double.

    >>> w = MedianDeviation()
    >>> w.lower(w.combine(w.lift(1), w.combine(w.lift(2), w.lift(9))))
    1.0
    """
    return entry(MedianDeviation, _multiset("MedianDeviation", median_deviation))


def median_deviation(v: Map) -> float:
    """The median distance of a multiset's values from their median."""
    values = [(float(value), count) for value, count in v.values()]
    middle = at_share(sorted(values, key=by_rank), 0.5, "linear")
    away = [(abs(value - middle), count) for value, count in values]
    return float(at_share(sorted(away, key=by_rank), 0.5, "linear"))
