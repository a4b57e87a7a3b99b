"""Sketches whose bytes other systems read: Spark's own bytes, errors within bounds, windows."""

from __future__ import annotations

import functools
from typing import Any

import datasketches as ds
import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash import monoids as m

WORDS = ["a", "b", "a", "c"]
# What Spark 4.3 gives for these words: hll_sketch_agg(x, 4), theta_sketch_agg(x)
HLL = "02010704030003082F823B040AFF80046F19DC060000000000000000000000000000000000000000"
THETA = "0104033F011ACC930310815F51CADC196EB2945F834349CB3A30D9FFDCDEEA0C90"
# and kll_sketch_agg_bigint of 1, 2, 3, 4, 5
KLL = (
    "05010F00C80008000500000000000000C8000100C3000000010000000000000005000000000000000300000000"
    "0000000400000000000000050000000000000001000000000000000200000000000000"
)


def over(monoid: Any, items: Any) -> Any:
    return monoid.lower(functools.reduce(monoid.combine, map(monoid.lift, items)))


def test_an_hll_sketch_is_sparks_byte_for_byte() -> None:
    assert over(m.HllSketch(4), WORDS).hex().upper() == HLL


def test_sparks_theta_and_kll_sketches_merge_with_ours() -> None:
    theta = m.ThetaSketch()
    both = theta.combine(bytes.fromhex(THETA), theta.lift("d"))
    assert ds.compact_theta_sketch.deserialize(both).get_estimate() == 4
    same = theta.combine(bytes.fromhex(THETA), over(theta, WORDS))
    assert ds.compact_theta_sketch.deserialize(same).get_estimate() == 3
    kll = m.KllSketch(of="bigint")
    merged = kll.combine(bytes.fromhex(KLL), over(kll, range(6, 11)))
    sketch = ds.kll_items_sketch.deserialize(merged, ds.PyLongsSerDe())
    assert [sketch.get_quantile(q, True) for q in (0.0, 0.5, 1.0)] == [1, 5, 10]


@pytest.mark.parametrize(
    ("factory", "read"),
    [(m.HllSketch, ds.hll_sketch), (m.ThetaSketch, ds.compact_theta_sketch)],
)
def test_distinct_values_are_within_the_error(factory: Any, read: Any) -> None:
    monoid = factory(10)
    parts = [over(monoid, range(i, 4000, 40)) for i in range(40)]
    total = functools.reduce(monoid.combine, parts)
    assert abs(read.deserialize(total).get_estimate() - 4000) < 4 * 4000 / np.sqrt(1024)


@pytest.mark.parametrize("of", ["double", "float", "bigint"])
def test_quantiles_are_within_the_error(of: str) -> None:
    monoid = m.KllSketch(200, of=of)
    values = np.random.default_rng(1).permutation(3000).tolist()
    total = over(monoid, values)
    kind = {"double": ds.kll_doubles_sketch, "float": ds.kll_floats_sketch}.get(of)
    sketch = (
        ds.kll_items_sketch.deserialize(total, ds.PyLongsSerDe())
        if kind is None
        else kind.deserialize(total)
    )
    assert sketch.n == 3000
    assert all(abs(sketch.get_quantile(q) / 3000 - q) < 0.05 for q in (0.1, 0.5, 0.9))


def test_frequent_items_are_found_among_many() -> None:
    rng = np.random.default_rng(2)
    items = [*rng.integers(1000, 9000, 1500).tolist(), *([7] * 300), *([8] * 200)]
    shuffled = [items[i] for i in rng.permutation(len(items))]
    found = over(m.FrequentItems(tracked=96, k=2), shuffled)
    assert [row["item"] for row in found] == [7, 8]
    assert all(abs(row["count"] - n) <= 3.5 / 96 * 2000 for row, n in zip(found, (300, 200)))


def test_windows_over_a_table() -> None:
    rng = np.random.default_rng(4)
    words = rng.choice(["x", "y", "z", "w"], 60).tolist()
    table = pa.table({"t": range(60), "w": words, "i": rng.integers(0, 9, 60)})
    frame = sash.rows(10)
    found = sash.windowed(table, time="t").agg(
        hll=sf.hll_sketch_agg("w").over(frame), theta=sf.theta_sketch_agg("i").over(frame),
        kll=sf.kll_sketch_agg("i").over(frame), longs=sf.kll_sketch_agg_bigint("i").over(frame),
        items=sf.frequent_items_sketch_agg("w").over(frame),
        top=sf.approx_top_k("w", 2).over(frame),
    )  # fmt: skip
    assert found.schema.field("hll").type == pa.binary()
    item = pa.struct([("item", pa.string()), ("count", pa.int64())])
    assert found.schema.field("top").type == pa.list_(item)
    for i, row in enumerate(found.to_pylist()):
        part = words[max(0, i - 9) : i + 1]
        assert round(ds.hll_sketch.deserialize(row["hll"]).get_estimate()) == len(set(part))
        best = max(set(part), key=lambda w: (part.count(w), [-ord(c) for c in w]))
        assert row["top"][0] == {"item": best, "count": part.count(best)}
        assert ds.frequent_strings_sketch.deserialize(row["items"]).total_weight == len(part)


def test_a_window_without_values_gives_an_empty_sketch() -> None:
    table = pa.table({"t": [1, 2], "x": pa.array([None, "a"])})
    found = sash.windowed(table, time="t").agg(
        hll=sf.hll_sketch_agg("x").over(sash.rows(1)), top=sf.approx_top_k("x").over(sash.rows(1))
    )
    assert ds.hll_sketch.deserialize(found["hll"][0].as_py()).is_empty()
    assert found["top"].to_pylist() == [[], [{"item": "a", "count": 1}]]


def test_columns_that_cannot_be_sketched_are_refused() -> None:
    table = pa.table({"t": [1], "when": pa.array([1], pa.timestamp("us"))})
    with pytest.raises(TypeError, match="takes a column of integers, floats or text, but when is"):
        sash.windowed(table, time="t").agg(y=sf.hll_sketch_agg("when").over(sash.rows(1)))
