"""Keys of a stream are the same in every batch, whatever other keys the batch has."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sash
from sash import functions as sf

ROWS = [(5, "a"), (5, "b"), (7, "a"), (7, None), (5, "a"), (None, None), (5, "b"), (None, "a")]


@pytest.mark.parametrize("by", [["k"], ["k", "j"], ["j"]], ids="-".join)
@pytest.mark.parametrize("kind", [pa.int32(), pa.uint64(), pa.string(), pa.float64()], ids=str)
@pytest.mark.parametrize("size", [1, 3, 8])
def test_with_and_without_nulls_beside_them(by: list[str], kind: pa.DataType, size: int) -> None:
    """An integer key had another number in batches with nulls: it lost its past."""
    values = pa.array([k for k, _ in ROWS], pa.int64()).cast(kind)
    table = pa.table({"k": values, "j": [j for _, j in ROWS], "t": range(8), "i": range(8)})
    asked = {"list": sf.collect_list("i").over(sash.range_between(-100, 0))}
    live = sash.stream(by, time="t").agg(**asked)
    given = [live.feed(table.slice(start, size)) for start in range(0, 8, size)]
    expected = sash.windowed(table, by, time="t").agg(**asked)
    found = pa.concat_tables(given)
    assert found.sort_by("i").to_pylist() == expected.to_pylist()
    nulls = [i for i, key in enumerate(table.select(by).to_pylist()) if set(key.values()) == {None}]
    assert live.current(**dict.fromkeys(by)) == {"list": nulls}
