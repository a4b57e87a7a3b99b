"""What the torture command has found, as small as it gets."""

from __future__ import annotations

import pyarrow as pa

import sash
from sash import functions as sf


def test_a_bulk_that_ends_where_the_last_answers_did() -> None:
    """Its columns that no aggregation reads were gone, and rows of it are not due any more."""
    live = sash.stream("k", time="t").agg(n=sf.count().over(sash.range_between(-5, 4)))
    table = pa.table({"k": ["a"] * 4, "t": [2, 3, 7, 24], "w": list("abcd")})
    found = pa.concat_tables(live.feed(table.slice(i, 1)) for i in range(4)).to_pylist()
    assert [(r["t"], r["w"], r["n"]) for r in found] == [(2, "a", 2), (3, "b", 3), (7, "c", 3)]
