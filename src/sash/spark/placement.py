"""Rows sent to partitions by number, on Spark versions with and without a call for it."""

from __future__ import annotations

from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

SEED = 42  # of the hash that Spark's partitions go by


def to_partitions(df: DataFrame, count: int, number: Column) -> DataFrame:
    """`df` in `count` partitions, each row in the one of its number.

    Spark 4.1 has `repartitionById`. Spark 4.0 only sends rows by the hash of a column: there the
    column has, for each partition, a number whose hash is that of the partition.
    """
    if hasattr(DataFrame, "repartitionById"):
        return df.repartitionById(count, number)
    keys = F.array(*map(F.lit, keys_of(count)))
    return df.repartition(count, F.element_at(keys, number + 1))


@cache
def keys_of(count: int) -> tuple[int, ...]:
    """For each of `count` partitions a number that Spark sends there.

    >>> [murmur3(key) % 3 for key in keys_of(3)]
    [0, 1, 2]
    """
    found: dict[int, int] = {}
    key = 0
    while len(found) < count:
        found.setdefault(murmur3(key) % count, key)
        key += 1
    return tuple(found[partition] for partition in range(count))


def murmur3(key: int) -> int:
    """Spark's hash of a 32-bit integer, which it calls `hash`.

    >>> murmur3(0), murmur3(1), murmur3(2)
    (933211791, -559580957, 1765031574)
    """
    mixed = _rotated(key * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
    found = _rotated(SEED ^ mixed, 13) * 5 + 0xE6546B64 & 0xFFFFFFFF
    found ^= 4  # bytes
    found = (found ^ found >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    found = (found ^ found >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    found ^= found >> 16
    return found - (1 << 32) if found >> 31 else found


def _rotated(bits: int, by: int) -> int:
    return bits << by & 0xFFFFFFFF | bits >> 32 - by
