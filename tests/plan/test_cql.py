"""The query of RA's figure 1: the longest call of the last 24 hours, every minute.

    select IStream(Max(len) as mxl, MaxCount(len) as num, ArgMax(len, caller) as who)
    from Calls [Range 24 Hours Slide 1 Minute]

Its window at time τ is from τb = floor((τ - 24 h) / 1 min) · 1 min to τb + 24 h, both
included.
"""

import random

import numpy as np
import pytest

from sash import monoids as m
from sash.plan import by_time, plan

MINUTE = 60 * 10**9
DAY = 24 * 60 * MINUTE

LONGEST = plan(
    [
        by_time(monoid, "24 hours", "1 minute", closed="both", name=name)
        for name, monoid in {
            "mxl": m.column(0, m.Max()),
            "num": m.column(0, m.MaxCount()),
            "who": m.ArgMax(),
        }.items()
    ]
)


def window_at(tau: int) -> tuple[int, int]:
    begin = (tau - DAY) // MINUTE * MINUTE
    return begin, begin + DAY


def calls(n: int) -> tuple[list[int], list[tuple[float, str]]]:
    """Calls over two days; some at the very minute, many as long as another."""
    rng = random.Random(7)
    times = sorted(
        rng.randrange(2 * DAY // MINUTE) * MINUTE + rng.choice([0, 0, rng.randrange(MINUTE)])
        for _ in range(n)
    )
    return times, [(float(rng.randrange(60)), rng.choice(["ann", "bob", "eve"])) for _ in times]


def test_the_answers_are_those_of_the_definition() -> None:
    times, items = calls(150)
    out = LONGEST.run(items, times)
    starts, ends = out["mxl"].start, out["mxl"].end
    for k in random.Random(1).sample(range(len(ends)), 300):
        tau = int(ends[k])
        assert (starts[k], tau) == window_at(tau)
        inside = [x for x, t in zip(items, times) if starts[k] <= t <= tau]
        longest = max(len_ for len_, _ in inside)
        assert out["mxl"].answer[k] == longest
        assert out["num"].answer[k] == sum(len_ == longest for len_, _ in inside)
        assert out["who"].answer[k] == next(who for len_, who in inside if len_ == longest)


def test_no_window_that_has_calls_is_missing() -> None:
    times, items = calls(5)
    ends = LONGEST.run(items, times)["who"].end
    with_calls = {
        end
        for end in range(0, 4 * DAY, MINUTE)
        if any(end - DAY <= t <= end for t in times)
    }  # fmt: skip
    assert set(ends.tolist()) == with_calls


def test_the_callers_as_numbers_run_compiled_and_the_maximum_is_kept_once() -> None:
    times, items = calls(200)
    number = {"ann": 0, "bob": 1, "eve": 2}
    columns = (
        np.array([len_ for len_, _ in items]),
        np.array([number[who] for _, who in items]),
    )
    compiled = LONGEST.run(columns, np.array(times), compiled=True)
    plain = LONGEST.run(items, times, compiled=False)
    assert compiled["mxl"].answer.tolist() == plain["mxl"].answer
    assert compiled["num"].answer.tolist() == plain["num"].answer
    assert compiled["who"].answer.tolist() == [number[who] for who in plain["who"].answer]


def test_it_is_explained() -> None:
    text = LONGEST.explain()
    assert "1 day every 1 minute, closed both" in text
    assert "in 1 group" in text
    assert "MaxCount, for Max, MaxCount; ArgMax, for ArgMax" in text
    assert "TwoStacksLite: in order, one range" in text


def test_months_are_refused() -> None:
    with pytest.raises(ValueError, match="months"):
        by_time(m.Max(), "1 month", "1 day")
