"""A Spark job in words: its shuffle, its sort, whether it is split; then the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sash.engine.explain import counted, frames, head, order

if TYPE_CHECKING:
    from sash.spark.batch import Job

BATCH = 65536
"""Rows of an Arrow batch from which on more do not make Spark faster."""


def text(job: Job) -> str:
    """The job, a line for each of its steps, for each frame and for each answer."""
    steps = [("shuffle", _shuffle(job)), ("sort", _sort(job)), ("split", _split(job))]
    if slow := _arrow(job):
        steps.append(("Arrow", slow))
    lines = [f"{name:9} {what}" for name, what in steps]
    return "\n".join([head(job.query), *lines, *frames(job.query, job.schema)])


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
    return f"by {', '.join((*job.query.by, order(job.query), *ties))}, in each partition"


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
    return f"{rows} rows a batch; {BATCH} are about 1.4 times as fast: set {setting}"
