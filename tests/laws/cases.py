"""What the laws run over: every entry of the catalogue, its inputs, and what it must answer."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sash import monoids as m
from tests.laws.case import (
    FLOATS,
    INTS,
    NAN,
    SIZES,
    TIMES,
    Case,
    above,
    best,
    count_of,
    distinct,
    finite,
    floats,
    integers,
    ordered,
    pairs,
    positive,
    same_kind,
    texts,
)
from tests.laws.cases_of_maps import MAPS
from tests.laws.cases_of_sketches import SKETCHES
from tests.laws.cases_of_statistics import STATISTICS


def geometric(xs: list[Any]) -> float:
    if any(x < 0 for x in xs):
        return NAN
    return float(math.prod(xs)) ** (1 / len(xs))


def longest_run(points: list[Any]) -> Any:
    runs = []
    for i in range(len(points)):
        j = i
        while j + 1 < len(points) and above(points[j + 1][1], points[j][1]):
            j += 1
        start, end = points[i][0], points[j][0]
        runs.append((start, end, end - start, j - i + 1))
    return max(runs, key=lambda run: run[3])


def relative(xs: list[Any]) -> Any:
    return None if max(xs) == 0 else (max(xs) - min(xs)) / max(xs)


CASES: dict[str, Case] = {
    "Count": Case(m.Count, same_kind(floats, texts), len, 0, columns=(FLOATS,)),
    "CountIf": Case(m.CountIf, same_kind(st.booleans()), sum, 0, columns=(INTS > 0,)),
    "Sum": Case(m.Sum, same_kind(integers, finite), sum, columns=(INTS, FLOATS)),
    "Product": Case(m.Product, same_kind(integers, finite), math.prod, columns=(INTS,)),
    "Min": Case(
        m.Min, same_kind(integers, floats, texts), lambda xs: ordered(xs)[0], columns=(FLOATS,)
    ),
    "Max": Case(
        m.Max, same_kind(integers, floats, texts), lambda xs: ordered(xs)[-1],
        columns=(FLOATS, INTS > 0),
    ),
    "Mean": Case(
        m.Mean, same_kind(integers, finite), statistics.fmean,
        columns=(FLOATS, INTS.astype(np.int32)),
    ),
    "GeoMean": Case(
        m.GeoMean, same_kind(integers, positive), geometric, tolerance=1e-9, columns=(SIZES,)
    ),
    "Range": Case(
        m.Range, same_kind(integers, finite), lambda xs: max(xs) - min(xs), columns=(INTS,)
    ),
    "MaxCount": Case(
        m.MaxCount, same_kind(integers, floats, texts),
        lambda xs: count_of(xs, ordered(xs)[-1]), columns=(FLOATS,),
    ),
    "MinCount": Case(
        m.MinCount, same_kind(integers, floats, texts),
        lambda xs: count_of(xs, ordered(xs)[0]), columns=(INTS,),
    ),
    "ArgMax": Case(
        m.ArgMax, same_kind(st.tuples(floats, integers)), lambda ps: best(ps, above),
        columns=((FLOATS, INTS),),
    ),
    "ArgMin": Case(
        m.ArgMin, same_kind(st.tuples(floats, integers)),
        lambda ps: best(ps, lambda a, b: above(b, a)), columns=((INTS, FLOATS),),
    ),
    "First": Case(m.First, same_kind(floats, texts), lambda xs: xs[0], columns=(FLOATS,)),
    "Last": Case(m.Last, same_kind(floats, texts), lambda xs: xs[-1], columns=(INTS,)),
    "FirstN": Case(lambda: m.FirstN(2), same_kind(floats, texts), lambda xs: xs[:2], []),
    "LastN": Case(lambda: m.LastN(2), same_kind(floats, texts), lambda xs: xs[-2:], []),
    "TopK": Case(
        lambda: m.TopK(2), same_kind(floats, texts), lambda xs: ordered(xs)[::-1][:2], []
    ),
    "M4": Case(
        m.M4, same_kind(integers, floats, texts),
        lambda xs: (ordered(xs)[0], ordered(xs)[-1], xs[0], xs[-1]), columns=(FLOATS,),
    ),
    "Collect": Case(m.Collect, same_kind(floats, texts), list, []),
    "CollectDistinct": Case(m.CollectDistinct, same_kind(floats, texts), distinct, []),
    "CountDistinct": Case(m.CountDistinct, same_kind(floats, texts), lambda x: len(distinct(x)), 0),
    "Concat": Case(lambda: m.Concat("-"), same_kind(texts), "-".join),
    "LongestRun": Case(
        m.LongestRun, same_kind(pairs), longest_run, columns=((TIMES, FLOATS), INTS)
    ),
    "RunLength": Case(
        m.RunLength, same_kind(finite, integers),
        lambda xs: longest_run([(x, x) for x in xs])[3], 0, columns=(FLOATS,), shares=True,
    ),
    "RelativeVariation": Case(
        m.RelativeVariation, same_kind(integers, finite), relative, columns=(SIZES,)
    ),
    "join": Case(
        lambda: m.join(hi=m.Max(), n=m.Count(), inner=m.join(mean=m.Mean())),
        same_kind(integers, finite),
        lambda xs: (max(xs), len(xs), (statistics.fmean(xs),)), (None, 0, (None,)),
        columns=(INTS,),
    ),
    "column": Case(
        lambda: m.join(hi=m.column(0, m.Max()), total=m.column(1, m.Sum())),
        same_kind(pairs),
        lambda ps: (max(p[0] for p in ps), sum(p[1] for p in ps)), (None, None),
        columns=((FLOATS, INTS),), skips_null=False,
    ),
    **MAPS,
    **SKETCHES,
    **STATISTICS,
}  # fmt: skip
