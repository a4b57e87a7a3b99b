"""A policy's window is what swag.AMTA keeps, whatever the monotone policy."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash import swag
from sash import windows as w
from sash.monoids import Monoid

spec = importlib.util.spec_from_file_location("oracle", Path(__file__).parent / "oracle.py")
oracle = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
spec.loader.exec_module(oracle)  # type: ignore[union-attr]

SUM_LAST = Monoid(
    "sum, last",
    (0, -1),
    lambda x: (x, x),
    lambda a, b: (a[0] + b[0], a[1] if b[1] < 0 else b[1]),
)
COUNT_MAX = Monoid(
    "count, max", (0, -1), lambda x: (1, x), lambda a, b: (a[0] + b[0], max(a[1], b[1]))
)
LATEST = Monoid("latest", -1, int, max)

POLICIES: dict[str, tuple[Monoid, Any]] = {
    "sum at most 10": (SUM_LAST, lambda total, old: total[0] - old[0] + old[1] > 10),
    "last hour": (LATEST, lambda total, old: total - old >= 4),
    "at most 5": (COUNT_MAX, lambda total, old: total[0] - old[0] >= 5),
    "older than the maximum": (COUNT_MAX, lambda total, old: old[1] < total[1]),
    "all": (COUNT_MAX, lambda total, old: True),
}


@pytest.mark.parametrize("name", POLICIES)
@given(values=st.lists(st.integers(0, 9), max_size=40))
def test_amta_keeps_the_frame_s_window(name: str, values: list[int]) -> None:
    monoid, function = POLICIES[name]
    rows = sorted(values) if monoid is LATEST else values
    frame = w.policy(function)
    assert w.not_monotone(frame, monoid, rows) is None
    kept = swag.AMTA(monoid, policy=frame.function, compiled=False)
    for i, x in enumerate(rows):
        kept.insert(x)
        window = oracle.in_window(frame, i, range(len(rows)), rows, monoid=monoid)
        assert len(kept) == len(window)
        assert kept.query() == oracle.fold(monoid, [rows[j] for j in window])
