"""Split: windows over no key, or over a key that dominates, cut at times.

A partition is then a range of time, and has besides its own rows those of the ranges
beside it that its windows reach: they are combined, but not returned. The ranges are
chosen on a sample of the rows, as the job runs. Answers do not depend on them.

A range is at least WIDE times as long as the windows reach, so a row is in two ranges
at most, and the rows that are in two are at most one in WIDE.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sash.plan.definition import Query
from sash.plan.reach import reach_of_frame
from sash.plan.types import unit_of
from sash.spark.names import quoted
from sash.spark.placement import to_partitions

PART, HOME = "__sash_part", "__sash_home"
"""Added columns: the range that a row is sent to, and whether it is the row's own."""

TICK, CUTS, FIRST, OWN = "__sash_tick", "__sash_cuts", "__sash_first", "__sash_own"
"""Columns on the way: the time, where its key is cut, the first range it goes to, its own."""

WIDE = 2
WORTH_NO_KEY, WORTH_KEYS = 1 << 24, 1 << 30
"""Bytes of input, as Spark estimates them, from which on it is worth looking for a split; with
keys that costs about a quarter of a light job, and most have no key that dominates."""

SAMPLE, LEAST = 200_000, 100
"""Rows of a sample, about; and rows in it that a key must have to be cut."""

DOMINATES = 1.5
"""A key dominates if it has this many times the rows of an even partition."""

FURTHEST = (1 << 63) - 1


@dataclass(frozen=True)
class Span:
    """How far windows reach before and after a row, in steps of the time column."""

    before: int | float
    after: int | float

    @property
    def whole(self) -> int | float:
        return self.before + self.after


@dataclass(frozen=True)
class Decision:
    """Whether a job may be split, into how many ranges of a key at most, and why."""

    reach: Span | None
    reason: str
    partitions: int = 1
    fraction: float = 1.0


def decide(
    query: Query, schema: pa.Schema, df: DataFrame, partitions: int | None, split: bool | None
) -> Decision:
    """Whether to look for a split; `split` is what the user says, None if nothing."""
    if split is False:
        return Decision(None, "split=False")
    reach = span_of(query, schema)
    if isinstance(reach, str):
        if split:
            raise ValueError(f"split=True, but {reach}")
        return Decision(None, reach)
    count = partitions or int(str(df.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    if count < 2:
        return Decision(None, "there is one partition")
    size = estimated_size(df)
    if not split and (small := _not_worth(size, bool(query.by))):
        return Decision(None, small)
    a_row = 8 + 8 * len(df.columns)  # about what an estimate is made of
    fraction = 0.01 if size is None else min(1.0, SAMPLE * a_row / max(1, size))
    whose = f"a key with more than {DOMINATES:g} / {count} of the rows" if query.by else "all rows"
    return Decision(reach, f"{whose} at times, into up to {count} ranges", count, fraction)


def _not_worth(size: int | None, keyed: bool) -> str | None:
    least = WORTH_KEYS if keyed else WORTH_NO_KEY
    if size is None:
        return "the input's size is not known; split=True looks for keys that dominate"
    if size >= least:
        return None
    return f"about {size / (1 << 20):.3g} MB are not worth it; split=True insists"


def span_of(query: Query, schema: pa.Schema) -> Span | str:
    """How far the windows reach, or why one cannot be cut at a time."""
    if query.every is not None:
        return "with every, a window's rows are kept together"
    unit = unit_of(schema.field(query.time).type)
    before: list[Any] = [0]
    after: list[Any] = [0]
    for out, a in query.aggregations.items():
        assert a.frame is not None
        found = reach_of_frame(a.frame, unit, query.spine is not None)
        if not found.by_time or found.ahead is None or found.rows_ahead:
            return f"{out}: {a.frame} cannot be cut at a time"
        before.append(found.behind)
        after.append(found.ahead)
    if query.descending:
        before, after = after, before
    return Span(max(before), max(after))


def estimated_size(df: DataFrame) -> int | None:
    """Bytes that Spark expects of `df`, without a job; None if it does not know."""
    frame: Any = df
    if hasattr(frame, "_jdf"):
        size = int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
    else:
        found = re.search(r"sizeInBytes=([\d.E+]+) (\w*)B", frame._explain_string(mode="cost"))
        if found is None:
            return None
        number, prefix = found.groups()
        size = int(float(number) * 1024 ** " KMGTPE".index(prefix[:1] or " "))
    return size if size < 1 << 62 else None


def split(df: DataFrame, query: Query, decision: Decision, alone: str | None = None) -> DataFrame:
    """`df` shuffled by key and range of time, each range with the rows that it reaches.

    `alone`: a column that is true of rows that no window has, and only their own range needs.
    """
    assert decision.reach is not None
    reach, count = decision.reach, decision.partitions
    clock = Clock(df.schema[query.time].dataType.typeName())
    tick = clock.tick(F.col(quoted(query.time)))
    cuts = _cuts(df.select(*_hash(query), tick.alias("tick")), clock, decision)
    if query.by:
        cuts = F.try_element_at(cuts, _hash(query)[0])
    rows = df.select("*", tick.alias(TICK), cuts.alias(CUTS))
    place = _place(F.col(CUTS), clock.shift(F.col(TICK), -reach.after), count)
    first, cut = F.col(FIRST), F.get(CUTS, F.col(FIRST))
    last = first + _passed(cut, clock.shift(F.col(TICK), reach.before))
    own = first + _passed(cut, F.col(TICK))
    rows = rows.select("*", place.alias(FIRST))
    rows = rows.select("*", own.alias(OWN), F.explode(F.sequence(first, last)).alias(PART))
    home = (F.col(PART) == F.col(OWN)).alias(HOME)
    rows = rows.select(*(F.col(quoted(name)) for name in df.columns), F.col(PART), home)
    if alone is not None:
        rows = rows.where(F.col(HOME) | ~F.col(quoted(alone)))
    return to_partitions(rows, count, _target(query, count))


def _target(query: Query, count: int) -> Column:
    """The partition of a row: that of its key, and for each further range the next one."""
    part = F.col(PART)
    if not query.by:
        return part
    keys = F.hash(*(F.col(quoted(name)) for name in query.by)).cast("long")
    return F.pmod(keys + part, F.lit(count)).cast("int")


def _hash(query: Query) -> list[Column]:
    keys = [F.col(quoted(name)) for name in query.by]
    return [F.xxhash64(*keys).alias("key")] if keys else []


def _cuts(rows: DataFrame, clock: Clock, decision: Decision) -> Column:
    """Where to cut: an array of ticks; with keys, a map of such by the hash of a key."""
    assert decision.reach is not None
    least, count = WIDE * decision.reach.whole, decision.partitions
    sample = rows if decision.fraction >= 1 else rows.sample(fraction=decision.fraction, seed=1)
    ranks = F.array(*(F.lit(i / count) for i in range(count + 1)))
    cuts = F.percentile_approx("tick", ranks, max(1000, 10 * count)).alias("cuts")
    if "key" not in rows.columns:
        return sample.agg(cuts).select(_spaced(F.col("cuts"), clock, least)).scalar()
    each = sample.groupBy("key").agg(F.count("*").alias("n"), cuts)
    large = F.when(F.col("n") >= LEAST, F.struct("key", "n", "cuts"))
    found = each.agg(F.sum("n").alias("total"), F.collect_list(large).alias("large"))
    dominating = F.filter("large", lambda e: e["n"] * count > F.col("total") * DOMINATES)
    entries = F.transform(
        dominating, lambda e: F.struct(e["key"], _spaced(e["cuts"], clock, least))
    )
    return found.select(F.map_from_entries(entries)).scalar()


def _spaced(cuts: Column, clock: Clock, least: int | float) -> Column:
    """Of the cuts, which grow, those that are so far from the one before, and from the ends.

    The first and the last are no cuts but the ends: the smallest tick and the largest.
    """

    def further(kept: Column, cut: Column) -> Column:
        far = clock.shift(F.element_at(kept, -1), least) <= cut
        far &= clock.shift(cut, least) <= F.element_at(cuts, -1)
        return F.when(far, F.concat(kept, F.array(cut))).otherwise(kept)

    kept = F.aggregate(cuts, F.slice(cuts, 1, 1), further)
    return F.slice(kept, 2, F.size(cuts))


def _place(cuts: Column, tick: Column, count: int) -> Column:
    """How many of the cuts, fewer than `count`, are not after the tick: by bisection."""
    steps = [1 << i for i in reversed(range(count.bit_length()))]

    def closer(place: Column, step: Column) -> Column:
        return place + step * _passed(F.get(cuts, place + step - 1), tick)

    found = F.aggregate(F.array(*map(F.lit, steps)), F.lit(0), closer)
    return F.when(cuts.isNull(), F.lit(0)).otherwise(found)


def _passed(cut: Column, tick: Column) -> Column:
    """1 if there is such a cut, and the tick is not before it."""
    return F.when(cut <= tick, F.lit(1)).otherwise(F.lit(0))


@dataclass(frozen=True)
class Clock:
    """A time column of Spark type `kind` as ticks: numbers that shift by the same steps."""

    kind: str

    def tick(self, time: Column) -> Column:
        if self.kind == "timestamp":  # one with an interval of days would follow the calendar
            return F.unix_micros(time)
        if self.kind == "timestamp_ntz":
            return time
        if self.kind == "date":
            return F.unix_date(time).cast("long")
        return time.cast("double" if self.kind in ("float", "double") else "long")

    def shift(self, tick: Column, steps: int | float) -> Column:
        """A tick that many steps later, or the last one there is."""
        if steps == 0:
            return tick
        if self.kind == "timestamp_ntz":
            return tick + F.lit(timedelta(microseconds=steps))
        if self.kind in ("float", "double"):  # as far as rounding may carry
            error = (F.abs(tick) + abs(steps)) * F.lit(1e-15)
            return tick + F.lit(float(steps)) + (error if steps >= 0 else -error)
        furthest = F.lit(FURTHEST if steps > 0 else -FURTHEST)
        shifted = F.try_add(tick, F.lit(int(steps)))
        return F.when(tick.isNotNull(), F.coalesce(shifted, furthest))
