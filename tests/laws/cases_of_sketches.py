"""Cases of sketches: few items, for which all of them are exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import datasketches as ds

from sash import Monoid
from sash import monoids as m
from sash.testing import alike
from tests.laws.case import (
    FLOATS,
    INTS,
    SIZES,
    Case,
    count_of,
    distinct,
    finite,
    floats,
    integers,
    ordered,
    same_kind,
    texts,
)


def vector(monoid: Monoid) -> Callable[[list[Any]], Any]:
    """A sketch has seen the same as one that was filled item by item."""

    def answer(xs: list[Any]) -> Any:
        out = monoid.identity.copy()
        for x in xs:
            out = monoid.combine(monoid.lift(x), out)
        return out

    return answer


def same_rank(x: Any, y: Any) -> bool:
    """KLL flips coins; few items are exact."""
    if x is None or y is None:
        return x is y
    a, b = (m.Quantiles(at=None).lower(state) for state in (x, y))
    return a.n == b.n and all(alike(a.quantile(r), b.quantile(r)) for r in (0, 0.3, 0.5, 1))


def same_estimate(read: Callable[[bytes], Any]) -> Callable[[Any, Any], bool]:
    """Sketches of the same items may hold them in another order."""

    def same(a: Any, b: Any) -> bool:
        if a is None or b is None:
            return a is b
        return alike(read(a).get_estimate(), read(b).get_estimate(), 1e-6)

    return same


def same_quantiles(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    x, y = (ds.kll_doubles_sketch.deserialize(state) for state in (a, b))
    return x.n == y.n and all(x.get_quantile(r) == y.get_quantile(r) for r in (0, 0.3, 0.5, 1))


def same_counts(a: Any, b: Any) -> bool:
    top = m.FrequentItems(k=9)
    return alike(top.lower(a), top.lower(b))


def estimate(read: Callable[[bytes], Any]) -> Callable[[bytes], int]:
    return lambda answer: round(read(answer).get_estimate())


def not_empty(items: list[Any]) -> int:
    """How many distinct items; the library leaves empty text out."""
    return len([x for x in distinct(items) if x != ""])


def middle(answer: bytes) -> Any:
    sketch = ds.kll_doubles_sketch.deserialize(answer)
    return None if sketch.is_empty() else sketch.get_quantile(0.5, True)


def frequencies(items: list[Any]) -> list[Any]:
    counts = [{"item": x, "count": count_of(items, x)} for x in ordered(distinct(items))]
    return sorted(counts, key=lambda row: -row["count"])[:2]


hll, theta = ds.hll_sketch.deserialize, ds.compact_theta_sketch.deserialize
BLOOM, COUNTMIN = m.Bloom(100, 3), m.CountMin(11, 3)
SKETCHES: dict[str, Case] = {
    "Bloom": Case(
        lambda: BLOOM, same_kind(integers, floats, texts), vector(BLOOM), BLOOM.identity,
        columns=(INTS, FLOATS),
    ),
    "CountMin": Case(
        lambda: COUNTMIN, same_kind(integers, floats, texts), vector(COUNTMIN), COUNTMIN.identity,
        columns=(SIZES,),
    ),
    "HyperLogLog": Case(
        lambda: m.HyperLogLog(10), same_kind(integers, floats, texts),
        lambda x: len(distinct(x)), 0, columns=(FLOATS,),
    ),
    "Quantiles": Case(
        m.Quantiles, same_kind(integers, floats), lambda xs: ordered(xs)[(len(xs) - 1) // 2],
        equal=same_rank,
    ),
    "HllSketch": Case(
        lambda: m.HllSketch(8), same_kind(integers, floats, texts), not_empty, 0,
        equal=same_estimate(hll), read=estimate(hll),
    ),
    "ThetaSketch": Case(
        lambda: m.ThetaSketch(8), same_kind(integers, floats, texts), not_empty, 0,
        equal=same_estimate(theta), read=estimate(theta),
    ),
    "KllSketch": Case(
        m.KllSketch, same_kind(integers, finite), lambda xs: ordered(xs)[(len(xs) - 1) // 2],
        equal=same_quantiles, read=middle,
    ),
    "FrequentItems": Case(
        lambda: m.FrequentItems(k=2), same_kind(integers, finite, texts), frequencies, [],
        equal=same_counts,
    ),
}  # fmt: skip
