"""What the torture command has found, as small as it gets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash import monoids as m
from sash import swag


def test_a_bulk_that_ends_where_the_last_answers_did() -> None:
    """Its columns that no aggregation reads were gone, and rows of it are not due any more."""
    live = sash.stream("k", time="t").agg(n=sf.count().over(sash.range_between(-5, 4)))
    table = pa.table({"k": ["a"] * 4, "t": [2, 3, 7, 24], "w": list("abcd")})
    found = pa.concat_tables(live.feed(table.slice(i, 1)) for i in range(4)).to_pylist()
    assert [(r["t"], r["w"], r["n"]) for r in found] == [(2, "a", 2), (3, "b", 3), (7, "c", 3)]


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_compiled_tree_that_was_emptied(compiled: bool) -> None:
    """It gave -inf, the identity of compiled numbers, where a plain one gives null."""
    tree = swag.FiBA(m.Max(), compiled=compiled)
    tree.bulk_insert([1, 2, 5, 9], np.array([1.0, 7.0, -np.inf, 3.0]))
    assert tree.range_query(3, 4) is None
    assert tree.range_query(5, 8) == -np.inf
    assert tree.range_query(6, 9) == 3.0
    tree.bulk_evict(9)
    assert tree.query() is None
    assert tree.range_query(0, 9) is None
