"""DABA and recalculation with a slide policy answer as AMTA does with the same policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.papers import stored
from benchmarks.papers.amta import OPERATIONS, OTHERS
from benchmarks.papers.policies import Obedient
from benchmarks.papers.workloads import kind
from sash import swag

READINGS = 1000 + np.cumsum(np.random.default_rng(1).normal(0, 1, 3000))
Case = tuple[Callable[[], Any], Any, Any, tuple[int, ...]]
CASES: dict[str, Case] = {
    "size": (stored.counts, stored.above_the_size, np.full(3000, 37), ()),
    "Max": (*OPERATIONS["Max"], READINGS, (100,)),
    "LIS": (*OPERATIONS["LIS"], (np.arange(3000), READINGS), (100,)),
}


QUICK = {("size", "Naive"), ("LIS", "DABA")}


@pytest.mark.parametrize(
    ("case", "name"),
    [
        pytest.param(case, name, marks=() if (case, name) in QUICK else pytest.mark.slow)
        for case in CASES
        for name in OTHERS
    ],
)
def test_as_amta(name: str, case: str) -> None:
    make, policy, xs, most = CASES[case]
    monoid = make() if case == "size" else make().of(kind(xs))
    window, other = Obedient(OTHERS[name], monoid, policy), swag.AMTA(monoid, policy)
    for part in (slice(0, 1000), slice(1000, None)):
        some = tuple(x[part] for x in xs) if isinstance(xs, tuple) else xs[part]
        assert np.array_equal(window.slide(some, *most), other.slide(some, *most))
        assert len(window) == len(other)
    assert 0 < len(window) < 3000
