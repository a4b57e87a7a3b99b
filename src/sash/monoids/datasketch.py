"""Sketches of Apache DataSketches, whose bytes Spark, Druid, BigQuery and others read.

A state is the sketch's bytes: plain data that is stored and sent as it is. Each runs as plain
Python, and a combine reads two sketches, merges them and writes one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from sash.monoids.monoid import Monoid, same
from sash.monoids.ranks import rank
from sash.monoids.recipe import entry, whole
from sash.monoids.variants import nullable


def library(what: str) -> Any:
    """The package datasketches, or an error that names the extra to install."""
    try:
        import datasketches
    except ImportError as problem:
        raise ImportError(
            f"{what} needs the package datasketches: pip install 'sash[sketches]'"
        ) from problem
    return datasketches


class Format(NamedTuple):
    """How sketches of a kind are made, merged, written and read."""

    new: Callable[[], Any]
    merge: Callable[[Any, Any], Any]
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]
    item: Callable[[Any], Any] = same


def _kept_as_bytes(name: str, made: Callable[[], Format], lower: Any, empty: Any) -> Monoid:
    """A monoid over the bytes of sketches. `made` is called late: a package is not pickled."""

    def lift(x: Any) -> bytes:
        how = made()
        sketch = how.new()
        sketch.update(how.item(x))
        return how.write(sketch)

    def combine(a: bytes, b: bytes) -> bytes:
        how = made()
        return how.write(how.merge(how.read(a), how.read(b)))

    return nullable(name, lift, combine, lower, empty=empty, commutative=True)


def HllSketch(lg_k: int = 12) -> Monoid:
    """An HLL sketch of distinct items, as bytes: what Spark's hll_sketch_agg gives.

    It has up to 2 ** lg_k registers of a byte (lg_k from 4 to 21) and estimates within
    1.04 / sqrt(2 ** lg_k) as a rule. Items are integers, floats or text; the library leaves
    the empty text out, in every language.

    >>> import datasketches
    >>> w = HllSketch()
    >>> sketch = datasketches.hll_sketch.deserialize(w.lower(w.combine(w.lift("a"), w.lift("b"))))
    >>> round(sketch.get_estimate())
    2
    """
    lg_k = between("HllSketch", "lg_k", lg_k, 4, 21)
    library("HllSketch")

    def made() -> Format:
        ds = library("HllSketch")

        def merge(a: Any, b: Any) -> Any:
            union = ds.hll_union(lg_k)
            union.update(a)
            union.update(b)
            return union.get_result(ds.HLL_8)

        return Format(
            lambda: ds.hll_sketch(lg_k, ds.HLL_8), merge,
            lambda sketch: sketch.serialize_updatable(), ds.hll_sketch.deserialize, hashed,
        )  # fmt: skip

    return entry(HllSketch, _kept_as_bytes("HllSketch", made, same, _empty(made)), lg_k=lg_k)


def ThetaSketch(lg_k: int = 12) -> Monoid:
    """A theta sketch of distinct items, as bytes: what Spark's theta_sketch_agg gives.

    Sketches of several sets can be intersected and subtracted. It keeps up to 2 ** lg_k
    hashes (lg_k from 5 to 26). Items are integers, floats or text that is not empty.

    >>> import datasketches
    >>> w = ThetaSketch()
    >>> seen = w.lower(w.combine(w.lift("a"), w.lift("b")))
    >>> datasketches.compact_theta_sketch.deserialize(seen).get_estimate()
    2.0
    """
    lg_k = between("ThetaSketch", "lg_k", lg_k, 5, 26)
    library("ThetaSketch")

    def made() -> Format:
        ds = library("ThetaSketch")

        def merge(a: Any, b: Any) -> Any:
            union = ds.theta_union(lg_k)
            union.update(a)
            union.update(b)
            return union.get_result()

        def write(sketch: Any) -> bytes:
            compact = sketch if isinstance(sketch, ds.compact_theta_sketch) else sketch.compact()
            return bytes(compact.serialize())

        return Format(
            lambda: ds.update_theta_sketch(lg_k), merge, write,
            ds.compact_theta_sketch.deserialize, hashed,
        )  # fmt: skip

    return entry(ThetaSketch, _kept_as_bytes("ThetaSketch", made, same, _empty(made)), lg_k=lg_k)


def hashed(x: Any) -> Any:
    """An item as the library hashes it: unsigned integers of 64 bits by their bits."""
    if isinstance(x, int) and 2**63 <= x < 2**64:
        return x - 2**64
    if isinstance(x, bool) or not isinstance(x, int | float | str):
        raise TypeError(f"a sketch takes integers, floats or text, not {x!r}")
    return x


def KllSketch(k: int = 200, of: str = "double") -> Monoid:
    """A KLL sketch of quantiles, as bytes: what Spark's kll_sketch_agg_double gives.

    `of`: "double", "float" or "bigint", as in Spark's names. `k` sets size and error, as
    for `Quantiles`. It flips coins, so its laws hold within that error; NaN is left out.

    >>> import datasketches
    >>> w = KllSketch()
    >>> seen = w.lower(w.combine(w.lift(3), w.combine(w.lift(1), w.lift(2))))
    >>> datasketches.kll_doubles_sketch.deserialize(seen).get_quantile(0.5)
    2.0
    """
    k = between("KllSketch", "k", k, 8, 65535)
    if of not in ("double", "float", "bigint"):
        raise ValueError(f"KllSketch: of must be double, float or bigint, not {of!r}")
    library("KllSketch")

    def made() -> Format:
        ds = library("KllSketch")
        longs = of == "bigint"
        kind = {
            "double": ds.kll_doubles_sketch,
            "float": ds.kll_floats_sketch,
            "bigint": ds.kll_items_sketch,
        }[of]
        serde = (ds.PyLongsSerDe(),) if longs else ()

        def merge(a: Any, b: Any) -> Any:
            both = kind(k)
            both.merge(a)
            both.merge(b)
            return both

        return Format(
            lambda: kind(k), merge, lambda sketch: bytes(sketch.serialize(*serde)),
            lambda data: kind.deserialize(data, *serde), int if longs else float,
        )  # fmt: skip

    return entry(KllSketch, _kept_as_bytes("KllSketch", made, same, _empty(made)), k=k, of=of)


def FrequentItems(tracked: int = 10_000, k: int | None = None) -> Monoid:
    """The `k` most frequent items and about how often they came; the sketch's bytes if k is None.

    Counts are exact for up to `tracked` distinct items; with more, an item that came more
    often than about 3.5 / tracked of all is still found, and its count is too high by at most
    that. Items are all text, all integers or all floats; NaN is left out.

    >>> w = FrequentItems(k=1)
    >>> w.lower(w.combine(w.lift("a"), w.combine(w.lift("b"), w.lift("a"))))
    [{'item': 'a', 'count': 2}]
    """
    tracked = whole("FrequentItems", "tracked", tracked, 1)
    k = None if k is None else whole("FrequentItems", "k", k, 1)
    lg_size = max(3, math.ceil(math.log2(tracked / 0.75)))
    library("FrequentItems")

    def lift(x: Any) -> tuple[str, bytes]:
        kind, how = _frequencies(type(x).__name__, lg_size)
        sketch = how.new()
        sketch.update(x)
        return kind, how.write(sketch)

    def combine(a: tuple[str, bytes], b: tuple[str, bytes]) -> tuple[str, bytes]:
        if a[0] != b[0]:
            raise TypeError(f"FrequentItems takes items of one type, not {a[0]} and {b[0]}")
        _, how = _frequencies(a[0], lg_size)
        return a[0], how.write(how.merge(how.read(a[1]), how.read(b[1])))

    def lower(v: tuple[str, bytes]) -> Any:
        if k is None:
            return v[1]
        _, how = _frequencies(v[0], lg_size)
        kinds = library("FrequentItems").frequent_items_error_type
        found = how.read(v[1]).get_frequent_items(kinds.NO_FALSE_POSITIVES)
        ordered = sorted(found, key=lambda row: (-row[1], rank(row[0])))
        return [{"item": row[0], "count": row[1]} for row in ordered[:k]]

    empty = None if k is None else list
    made = nullable(
        "FrequentItems", lift, combine, lower, empty=empty, skips=is_no_item, commutative=True
    )
    return entry(FrequentItems, made, tracked=tracked, k=k)


def is_no_item(x: Any) -> bool:
    """Whether an item is null or NaN."""
    return x is None or x != x


def _frequencies(kind: str, lg_size: int) -> tuple[str, Format]:
    ds = library("FrequentItems")
    serdes = {"int": ds.PyLongsSerDe, "float": ds.PyDoublesSerDe}
    if kind != "str" and kind not in serdes:
        raise TypeError(f"FrequentItems takes text, integers or floats, not {kind}")
    sketch = ds.frequent_strings_sketch if kind == "str" else ds.frequent_items_sketch
    serde = () if kind == "str" else (serdes[kind](),)

    def merge(a: Any, b: Any) -> Any:
        both = sketch(lg_size)
        both.merge(a)
        both.merge(b)
        return both

    return kind, Format(
        lambda: sketch(lg_size), merge, lambda one: bytes(one.serialize(*serde)),
        lambda data: sketch.deserialize(data, *serde),
    )  # fmt: skip


def _empty(made: Callable[[], Format]) -> Callable[[], bytes]:
    """The bytes of a sketch that has seen nothing, which is what Spark gives then."""

    def empty() -> bytes:
        how = made()
        return how.write(how.new())

    return empty


def between(factory: str, name: str, value: Any, least: int, most: int) -> int:
    """`value` as a whole number from `least` to `most`, or an error that names the argument."""
    found = whole(factory, name, value, least)
    if found > most:
        raise ValueError(f"{factory}: {name} must be at most {most}, not {found}")
    return found
