"""A Spark job in words: its shuffle, its sort, whether it is split; then the query.

Of a stream: its shards, when rows come out, what is kept; then the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sash.engine.stream.definition import StreamDefinition
from sash.plan.explain import Explanation, Step, counted, explain, order
from sash.plan.keeps import length_of
from sash.windows.duration import Duration

if TYPE_CHECKING:
    from sash.spark.batch import Job

BATCH = 65536
"""Rows of an Arrow batch from which on more do not make Spark faster."""


def text(job: Job, before: Sequence[Step] = ()) -> Explanation:
    """The job, a line for each of its steps, for each frame and for each answer.

    `before`: steps before the shuffle.
    """
    steps = [("shuffle", _shuffle(job)), ("sort", _sort(job)), ("split", _split(job))]
    if slow := _arrow(job):
        steps.append(("Arrow", slow))
    assert job.plan is not None
    return explain(job.plan, [*before, *(Step(name, what) for name, what in steps)])


def _shuffle(job: Job) -> str:
    by = ", ".join(job.query.by)
    if job.split.reach is not None:
        what = f"{by}, and the range of time where it is split" if by else "range of time"
        return f"by {what}, into {counted(job.split.partitions, 'partition')}"
    if not by:
        return "into 1 partition: one core does all the work"
    if job.partitions is not None:
        return f"by {by}, into {counted(job.partitions, 'partition')}"
    number = job.df.sparkSession.conf.get("spark.sql.shuffle.partitions")
    return f"by {by}, into {number} partitions (spark.sql.shuffle.partitions), or fewer if small"


def _sort(job: Job) -> str:
    ties = [e.text + " descending" * e.descending for e in job.ties]
    merged = ", events and spine merged" if job.query.spine is not None else ""
    return f"by {', '.join((*job.query.by, order(job.query), *ties))}{merged}, in each partition"


def _split(job: Job) -> str:
    split = job.split
    if split.reach is None:
        return f"no: {split.reason}"
    kind = job.schema.field(job.query.time).type
    return (
        f"yes: {split.reason}, each with the rows that windows reach beyond it "
        f"({split.reach.before} before, {split.reach.after} after, in steps of {kind}); answers "
        f"are the same. Cuts are chosen on a sample of {split.fraction:.3g} of the rows"
    )


def _arrow(job: Job) -> str | None:
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    rows = int(str(job.df.sparkSession.conf.get(setting, "10000")))
    if rows >= BATCH or rows <= 0:
        return None
    return f"{rows} rows per batch; {BATCH} are about 1.4 times as fast: set {setting}"


def stream_steps(
    job: Job, definition: StreamDefinition, delay: int | None, late: str, cache: bool
) -> list[Step]:
    """The steps of a stream besides its plan, one line per step."""
    query = definition.plan.query
    by = f"by the hash of {', '.join(query.by)}" if query.by else "no key: one does all"
    near = "copies in local files" if cache else "no copies in local files"
    shards = f"{definition.shards}, {by}; one call of transformWithState has a shard's keys"
    steps = [
        Step("shards", shards),
        Step("emit", _emit(definition, delay)),
        Step("late", _late(delay, late)),
        Step("keeps", _keeps(definition)),
        Step("state", f"pages in Spark's state store, written once; {near}"),
    ]
    if definition.slices_at_once and cache:
        sent = "slices of rows that are not late, where fewer; the first micro-batch sends rows"
        steps.insert(1, Step("shuffle", sent))
    if slow := _arrow(job):
        steps.append(Step("Arrow", slow))
    return steps


def _emit(definition: StreamDefinition, delay: int | None) -> str:
    if definition.kept.emit == "arrival":
        return "arrival: each row in its own micro-batch, over the rows known then"
    if definition.kept.emit == "update":
        length = length_of(definition.plan, definition.kept.lead)
        lead = f", and up to {length} ahead" if definition.kept.lead else ""
        return f"update: values of keys that have changed, as of the watermark{lead}"
    mark = f"the watermark, {Duration((delay or 0) * 1_000_000)} behind the youngest row,"
    if definition.plan.query.every is not None:
        return f"final: each window once {mark} has passed its end"
    ahead, rows = definition.kept.ahead, definition.kept.rows_ahead
    more = f" and {length_of(definition.plan, ahead)} more" if ahead else ""
    if rows:
        more += f", and {counted(rows, 'row')} of its key after it are settled"
    return f"final: each row once {mark} has passed it{more}"


def _late(delay: int | None, late: str) -> str:
    if delay is None:
        return "no row: there is no watermark, and nothing that is kept is ever too old"
    what = "come out without answers, their column late true" if late == "side" else "are counted"
    return f"rows that the watermark had passed before their micro-batch {what}"


def _keeps(definition: StreamDefinition) -> str:
    columns = f"of {', '.join(definition.needed)}, what later rows reach: see each frame"
    if definition.passthrough and definition.kept.emit == "final":
        columns += f"; of {', '.join(definition.passthrough)}, until a row is answered"
    return columns
