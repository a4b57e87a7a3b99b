"""Sketches of Apache DataSketches as bytes that other systems read, under Spark's names.

They need the extra `sketches`. A state is the sketch's bytes, so they run as plain Python;
a combine reads two sketches, merges them and writes one.
"""

from __future__ import annotations

import pyarrow as pa

from sash import monoids as m
from sash.aggregations.kinds import always, is_text
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Input

BYTES = always(pa.binary())


def _is_hashed(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or is_text(kind)


def _is_integer(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind))


def _is_float(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _of_hashed(name: str, column: Input, monoid: m.Monoid) -> Aggregation:
    takes = "a column of integers, floats or text"
    return Aggregation(name, (column,), monoid, result=BYTES, accepts=_is_hashed, takes=takes)


def hll_sketch_agg(column: Input, lg_k: int = 12) -> Aggregation:
    """An HLL sketch of the distinct values, as bytes; Spark's hll_sketch_estimate reads them.

    A combine merges up to 2 ** lg_k bytes.

    >>> import datasketches
    >>> from sash.testing import running
    >>> sketch = datasketches.hll_sketch.deserialize(running(hll_sketch_agg("x"), x=[1, 2, 1])[-1])
    >>> round(sketch.get_estimate())
    2
    """
    return _of_hashed("hll_sketch_agg", column, m.HllSketch(lg_k))


def theta_sketch_agg(column: Input, lg_k: int = 12) -> Aggregation:
    """A theta sketch of the distinct values, as bytes; such sketches can be intersected.

    A combine merges up to 2 ** lg_k hashes.

    >>> import datasketches
    >>> from sash.testing import running
    >>> seen = running(theta_sketch_agg("x"), x=["a", "b", "a"])[-1]
    >>> datasketches.compact_theta_sketch.deserialize(seen).get_estimate()
    2.0
    """
    return _of_hashed("theta_sketch_agg", column, m.ThetaSketch(lg_k))


def kll_sketch_agg_double(column: Input, k: int = 200) -> Aggregation:
    """A KLL sketch of doubles, as bytes, that answers about any quantile.

    A combine merges sketches of about 3 k values.

    >>> import datasketches
    >>> from sash.testing import running
    >>> seen = running(kll_sketch_agg_double("x"), x=[3.0, 1.0, 2.0])[-1]
    >>> datasketches.kll_doubles_sketch.deserialize(seen).get_quantile(0.5)
    2.0
    """
    takes = "a column of numbers"
    return Aggregation(
        "kll_sketch_agg_double", (column,), m.KllSketch(k), result=BYTES, accepts=_is_float,
        takes=takes,
    )  # fmt: skip


kll_sketch_agg = kll_sketch_agg_double


def kll_sketch_agg_float(column: Input, k: int = 200) -> Aggregation:
    """A KLL sketch of floats of 32 bits, half as large as one of doubles.

    A combine merges sketches of about 3 k values.

    >>> import datasketches
    >>> from sash.testing import running
    >>> seen = running(kll_sketch_agg_float("x"), x=[3.0, 1.0, 2.0])[-1]
    >>> datasketches.kll_floats_sketch.deserialize(seen).get_quantile(0.5)
    2.0
    """
    return Aggregation(
        "kll_sketch_agg_float", (column,), m.KllSketch(k, of="float"), result=BYTES,
        accepts=_is_float, takes="a column of numbers",
    )  # fmt: skip


def kll_sketch_agg_bigint(column: Input, k: int = 200) -> Aggregation:
    """A KLL sketch of integers of 64 bits.

    A combine merges sketches of about 3 k values, which are objects to the Python library:
    ten times slower than one of doubles.

    >>> import datasketches
    >>> from sash.testing import running
    >>> seen = running(kll_sketch_agg_bigint("x"), x=[3, 1, 2])[-1]
    >>> longs = datasketches.PyLongsSerDe()
    >>> datasketches.kll_items_sketch.deserialize(seen, longs).get_quantile(0.5)
    2
    """
    return Aggregation(
        "kll_sketch_agg_bigint", (column,), m.KllSketch(k, of="bigint"), result=BYTES,
        accepts=_is_integer, takes="a column of integers",
    )  # fmt: skip


def frequent_items_sketch_agg(column: Input, max_items_tracked: int = 10_000) -> Aggregation:
    """A sketch of the most frequent values, as bytes; null where there are none.

    A combine merges up to `max_items_tracked` values and counts.

    >>> import datasketches
    >>> from sash.testing import running
    >>> seen = running(frequent_items_sketch_agg("x"), x=["a", "b", "a"])[-1]
    >>> datasketches.frequent_strings_sketch.deserialize(seen).get_estimate("a")
    2
    """
    monoid = m.FrequentItems(max_items_tracked)
    return _of_hashed("frequent_items_sketch_agg", column, monoid)


def approx_top_k(column: Input, k: int = 5, max_items_tracked: int = 10_000) -> Aggregation:
    """The `k` most frequent values and about how often each came, the most frequent first.

    Exact where there are at most `max_items_tracked` distinct values. A combine merges that
    many values and counts.

    >>> from sash.testing import running
    >>> running(approx_top_k("x", 1), x=["a", "b", "a"])[-1]
    [{'item': 'a', 'count': 2}]
    """

    def result(kinds: list[pa.DataType]) -> pa.DataType:
        return pa.list_(pa.struct([("item", kinds[0]), ("count", pa.int64())]))

    return Aggregation(
        "approx_top_k", (column,), m.FrequentItems(max_items_tracked, k=k), result=result,
        accepts=_is_hashed, takes="a column of integers, floats or text",
    )  # fmt: skip
