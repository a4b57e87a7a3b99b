"""Events that windows at moments can reach, against plain Python; and what is left to sort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import asof_table, reached, team
from sash.engine.reached import Near
from sash.engine.team import Team
from sash.plan.reach import Reach

REACHES = {
    "behind": Reach(5, 0), "both": Reach(3, 4), "rows": Reach(0, 0, 2, 0), "none": Reach(None, 0),
    "ahead": Reach(0, None), "rows ahead": Reach(2, 0, 0, 1),
}  # fmt: skip


def near(t: Any, asked: list[Any], reach: Reach) -> bool:
    """Whether an event is between the first moment's windows and the last one's."""
    lo = min(asked) - (reach.behind or 0) if reach.by_time else -np.inf
    bounded = reach.ahead is not None and reach.rows_ahead == 0
    return bool(lo <= t <= (max(asked) + (reach.ahead or 0) if bounded else np.inf))


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32])
@pytest.mark.parametrize("reach", REACHES)
def test_events_near_moments(reach: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "WORTH_A_THREAD", 100)
    monkeypatch.setattr(reached, "WORTH_LEAVING_OUT", 2)
    rng = np.random.default_rng(3)
    times, codes = rng.integers(0, 100, 1000).astype(dtype), rng.integers(0, 9, 1000)
    asked = {code: sorted(rng.integers(40, 60, count).tolist()) for code, count in ((1, 1), (4, 3))}
    counts = [len(asked.get(code, [])) for code in range(9)]
    moments = np.array([t for code in sorted(asked) for t in asked[code]], dtype)
    found = Near.to(moments, np.append(0, np.cumsum(counts)), REACHES[reach])
    with Team(3) as three:
        rows = found.rows(times, codes, three)
    assert rows is not None
    pairs = enumerate(zip(times.tolist(), codes.tolist(), strict=True))
    wanted = [i for i, (t, c) in pairs if c in asked and near(t, asked[c], REACHES[reach])]
    assert rows.tolist() == wanted
    assert 0 < len(wanted) < 1000


def test_the_ends_of_the_integers() -> None:
    far = 2**63 - 1
    moments, begins = np.array([-far - 1, 2 - far, far - 2]), np.array([0, 1, 2, 3])
    ends = Near.to(moments, begins, Reach(5, 5)).ends.tolist()
    assert ends == [[-far - 1, 4 - far], [-far - 1, 7 - far], [far - 7, far]]


def test_only_events_near_the_spine_are_brought_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    sorted_rows: list[int] = []
    arranged = asof_table.arranged

    def counted(codes: Any, times: np.ndarray, threads: Team) -> Any:
        sorted_rows.append(len(times))
        return arranged(codes, times, threads)

    monkeypatch.setattr(asof_table, "arranged", counted)
    n = 10_000
    events = pa.table({"k": np.arange(n) % 100, "t": np.arange(n)})
    spine = pa.table({"k": [7, 50], "t": [5000, 9000]})
    found = (
        sash.windowed(events, "k", time="t")
        .at(spine)
        .agg(n=sf.count().over(sash.range_between(-1000, 0)))
    )
    assert found.column("n").to_pylist() == [10, 10]
    assert sorted_rows == [2, 20]
