"""A Spark job in words: its shuffle, its sort, whether it is split, its frames and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sash.engine.columns import number_type
from sash.engine.definition import Aggregation
from sash.kernel.layout import Layout
from sash.plan.choose import Need, choose
from sash.windows import Frame

if TYPE_CHECKING:
    from sash.spark.batch import Job

BATCH = 65536
"""Rows of an Arrow batch from which on more do not make Spark faster."""

_ROW = pa.int64()

FROM_BOUNDS = {
    "count": "from the window's bounds, no state",
    "first": "the row at the window's begin, no state",
    "last": "the row at the window's end, no state",
}


def text(job: Job) -> str:
    """The job, a line for each of its steps and for each of its answers."""
    query = job.query
    frames = _frames(job)
    many = f"{_count(len(query.aggregations), 'aggregation')} over {_count(len(frames), 'frame')}"
    keys = f"by {', '.join(query.by)}" if query.by else "over no key"
    order = f"{query.time}{' descending' * query.descending}"
    steps = [("shuffle", _shuffle(job)), ("sort", _sort(job, order)), ("split", _split(job))]
    if slow := _arrow(job):
        steps.append(("Arrow", slow))
    lines = [f"{many}, {keys}, in order of {order}", *(f"{name:9} {what}" for name, what in steps)]
    for number, (frame, outs) in enumerate(frames.items(), 1):
        lines.append(f"{number}. {frame}; its bounds are found once")
        lines += [f"   {out}: {_answer(job, query.aggregations[out])}" for out in outs]
    return "\n".join(lines)


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def _frames(job: Job) -> dict[Frame, list[str]]:
    found: dict[Frame, list[str]] = {}
    for out, a in job.query.aggregations.items():
        assert a.frame is not None
        found.setdefault(a.frame, []).append(out)
    return found


def _shuffle(job: Job) -> str:
    by = ", ".join(job.query.by)
    if job.split.reach is not None:
        what = f"{by}, and the range of time where it is split" if by else "range of time"
        return f"by {what}, into {_count(job.split.partitions, 'partition')}"
    if not by:
        return "into 1 partition: one core does all the work"
    if job.partitions is not None:
        return f"by {by}, into {_count(job.partitions, 'partition')}"
    number = job.df.sparkSession.conf.get("spark.sql.shuffle.partitions")
    return f"by {by}, into {number} partitions (spark.sql.shuffle.partitions), or fewer if small"


def _sort(job: Job, order: str) -> str:
    ties = [e.text + " descending" * e.descending for e in job.ties]
    return f"by {', '.join((*job.query.by, order, *ties))}, in each partition"


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


def _answer(job: Job, a: Aggregation) -> str:
    if a.monoid is None:
        return f"{a}, {FROM_BOUNDS[a.how]}"
    kinds = [number_type(job.schema.field(name).type) for name in a.columns]
    if a.how == "argument":  # the argument is looked up by its row
        kinds = [kinds[0], number_type(_ROW)]
    known = tuple(kind for kind in kinds if kind is not None)
    typed = a.monoid
    if len(known) == len(kinds):
        typed = typed.of(known[0] if len(known) == 1 else known)
    is_compiled = len(known) == len(kinds) and Layout.of(typed.identity, typed.dtype) is not None
    how = "compiled" if is_compiled else "plain Python, as its values are not numbers"
    return f"{a}, {choose(Need(typed))}; {how}"
