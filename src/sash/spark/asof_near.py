"""Events that no window of a spine can reach, left out before the shuffle.

    events ⋉ broadcast(keys of the spine, their first and last time)

For this the spine is read twice. So it is done where the spine is small enough to be broadcast,
where the events are large, and where a second reading is sure to give the same rows: stored
tables, their rows chosen and changed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sash.plan.reach import Reach
from sash.spark.split import Clock, estimated_size

WORTH = 1 << 24
"""Bytes of events, as Spark estimates them, from which on it is worth looking for those out of
reach."""

STABLE = frozenset(
    ("Filter", "Join", "LocalRelation", "LogicalRDD", "LogicalRelation", "Project", "Range",
     "SubqueryAlias", "Union")
)  # fmt: skip
"""Steps of a plan that give the same rows again, besides what is cached and other relations."""

FIRST, LAST = "first", "last"


def is_worth(events: DataFrame, spine: DataFrame) -> bool:
    """Whether to leave events out; `spine`: the columns that are read for it. Starts no job."""
    frame: Any = spine
    if not hasattr(frame, "_jdf"):  # over Spark Connect, plans are not at hand
        return False
    here, there = estimated_size(spine), estimated_size(events)
    limit = frame._jdf.sparkSession().sessionState().conf().autoBroadcastJoinThreshold()
    if here is None or there is None or here > limit or there < WORTH:
        return False
    return is_stable(frame._jdf.queryExecution().optimizedPlan())


def is_stable(plan: Any) -> bool:
    """Whether a plan, an object of Spark's, gives the same rows whenever it runs."""
    name = plan.nodeName()
    known = name in STABLE or name.startswith(("InMemoryRelation", "Relation"))
    children = plan.children()
    each = (children.apply(i) for i in range(children.length()))
    return known and plan.deterministic() and all(map(is_stable, each))


def near(
    events: DataFrame, spine: DataFrame, keys: Sequence[str], time: str, reach: Reach
) -> DataFrame:
    """The events whose key the spine has, and whose time its windows can reach.

    Both have the columns `keys` and `time`. A key of the spine without any time reaches nothing.
    """
    clock = Clock(spine.schema[time].dataType.typeName())
    tick = clock.tick(F.col(time))
    named = [F.col(key).alias(f"asked_{key}") for key in keys]
    asked = spine.groupBy(*named).agg(F.min(tick).alias(FIRST), F.max(tick).alias(LAST))
    reached = F.col(LAST).isNotNull()
    for key in keys:
        reached &= F.col(key).eqNullSafe(F.col(f"asked_{key}"))
    if reach.by_time:
        assert reach.behind is not None
        reached &= F.col(FIRST) <= clock.shift(tick, reach.behind)
    if reach.ahead is not None and reach.rows_ahead == 0:
        reached &= clock.shift(F.col(LAST), reach.ahead) >= tick
    return events.join(F.broadcast(asked), reached, "left_semi")
