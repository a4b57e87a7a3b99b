"""A Spark job in words: its shuffle, its sort, whether it is split, its frames and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sash.spark.batch import Job


def text(job: Job) -> str:
    """The job, a line for each of its steps."""
    query = job.query
    return str(query)
