"""The columns that a pipeline file names, against those that its tables have."""

from __future__ import annotations

from sash.cli.aggregations import read_by
from sash.cli.checked import Table
from sash.cli.errors import known
from sash.cli.pipeline import Pipeline


def check_columns(pipeline: Pipeline, names: list[str]) -> None:
    """End, with the line, where the file names a column that the source does not have."""
    root = pipeline.root
    folded = {name.lower() for name in names}

    def check(table: Table, key: str, name: str) -> None:
        if name.lower() not in folded:
            table.wrong(key, f"the source has no column {name!r}; {known(names, name)}")

    for name in (pipeline.time, *pipeline.ties) if pipeline.time else ():
        check(root, "time", name)
    if pipeline.sql is not None:
        return
    for name in pipeline.keys:
        check(root, "keys", name)
    rows_come_out = pipeline.every is None and pipeline.spine is None
    asked = root.table("aggregations")
    for out, a in pipeline.aggregations.items():
        if out.lower() in folded and rows_come_out:
            asked.wrong(out, "the source has a column of that name already; choose another")
        for key, name in read_by(a, pipeline.aggregations):
            if key != "result" or pipeline.spine is None:
                check(asked.table(out), key, name)


def check_spine_columns(pipeline: Pipeline, names: list[str]) -> None:
    """End, with the line, where the file names a column that the spine does not have."""
    spine = pipeline.spine
    assert spine is not None
    folded, table = {name.lower() for name in names}, spine.source.table

    def check(table: Table, key: str, name: str) -> None:
        if name.lower() not in folded:
            where = key if key in table.data else None  # named as in the source
            table.wrong(where, f"the spine has no column {name!r}; {known(names, name)}")

    check(table, "time", spine.time)
    for name in spine.keys:
        check(table, "keys", name)
    asked = pipeline.root.table("aggregations")
    for out, a in pipeline.aggregations.items():
        if out.lower() in folded:
            asked.wrong(out, "the spine has a column of that name already; choose another")
        for key, name in read_by(a, pipeline.aggregations):
            if key == "result":
                check(asked.table(out), key, name)
