"""A checkpoint's windows, from outside: the rows that they hold, and what they are for.

Spark's state data source reads the pages of a committed micro-batch; the stream may be stopped
or running. Nothing of the checkpoint is changed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from sash.engine import live
from sash.engine.columns import changes, numbers, one_array
from sash.engine.pages import LIST, ROWS, SLICES, Listing, Page, from_bytes, rest_of
from sash.engine.rows import HELD
from sash.engine.table import key_codes
from sash.plan.types import unit_of
from sash.spark.processor import STATE

OPERATOR = "transformWithState"
SHARD, ANSWERED = "shard", "answered"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_state(
    spark: SparkSession, location: str, *, operator: int | None = None, batch: int | None = None
) -> DataFrame:
    """The rows that a checkpoint's windows hold, as a DataFrame.

    Columns: `shard`; those of the stream that windows read, and the others of rows that are
    yet to be answered (null afterwards: they are no longer kept); `answered`, whether a row
    has come out. `operator`: which call's, where a query has several; `batch`: as of which
    micro-batch, the last one unless told. Costs a read of all the state. With `every`, what
    slices have combined are no rows any more: describe_state counts them.
    """
    number = _operator(spark, location, operator)
    pages = _pages(spark, location, number, batch)
    listings = _listings(pages)
    schema = _schema(pages, listings)
    decode = _decoder(schema)
    return pages.groupBy(SHARD).applyInArrow(decode, from_arrow_schema(schema))


def describe_state(
    spark: SparkSession, location: str, *, operator: int | None = None, batch: int | None = None
) -> dict[str, Any]:
    """What a checkpoint's windows are for and how much they hold, from the lists of pages.

    `definition`, `watermark`, `shards` that have been used, `pages`, `rows`, `slices` (with
    `every`, one a key and slice) and `bytes`.
    """
    number = _operator(spark, location, operator)
    listings = list(_listings(_pages(spark, location, number, batch)).values())
    pages = [page for each in listings for page in each.pages]
    marks = [each.watermark for each in listings if each.watermark is not None]
    definition = listings[0].definition if listings else {}
    return {
        "operator": number,
        "definition": definition,
        "watermark": _moment(max(marks), definition) if marks else None,
        "shards": len(listings),
        "pages": len(pages),
        "rows": sum(page.rows for page in pages if page.kind == ROWS),
        "slices": sum(page.rows for page in pages if page.kind == SLICES),
        "bytes": sum(each.size for each in listings),
    }


def _operator(spark: SparkSession, location: str, asked: int | None) -> int:
    known = spark.read.format("state-metadata").load(location)
    rows = known.select("operatorId", "operatorName", "operatorProperties").distinct().collect()
    ours = sorted(
        row.operatorId
        for row in rows
        if row.operatorName.startswith(OPERATOR) and f'"{STATE}"' in row.operatorProperties
    )
    if not ours:
        raise ValueError(f"{location} is no checkpoint of a stream with sash.windowed")
    if asked is None and len(ours) > 1:
        raise ValueError(
            f"the query has {len(ours)} calls of sash.windowed: give operator=, {ours}"
        )
    if asked is not None and asked not in ours:
        raise ValueError(f"operator must be one of {ours}, not {asked!r}")
    return ours[0] if asked is None else asked


def _pages(spark: SparkSession, location: str, operator: int, batch: int | None) -> DataFrame:
    read = spark.read.format("statestore").option("operatorId", operator)
    read = read.option("stateVarName", STATE)
    if batch is not None:
        read = read.option("batchId", batch)
    columns = ("key.shard", "user_map_key.name", "user_map_value.page")
    return read.load(location).select(*columns)


def _listings(pages: DataFrame) -> dict[int, Listing]:
    """The shards' lists of pages."""
    lists = pages.where(F.col("name") == LIST).collect()
    return {row.shard: Listing.load(row.page) for row in lists}


def _schema(pages: DataFrame, listings: dict[int, Listing]) -> pa.Schema:
    """The columns that come out, of the types that pages have."""
    definition = next(iter(listings.values())).definition if listings else None
    texts = {} if definition is None else {**definition["columns"], **definition["other columns"]}
    kinds = {name: _type(text) for name, text in texts.items()}
    known = [page for each in listings.values() for page in each.pages if page.kind == ROWS]
    if known:
        one = max(known, key=lambda page: page.rest > 0)
        chosen = pages.where(F.col("name").isin(one.name, rest_of(one.name))).collect()
        seen = {f.name: f.type for row in chosen for f in from_bytes(row.page).schema}
        kinds = {name: seen.get(name, kind) for name, kind in kinds.items()}
    found = pa.schema([(SHARD, pa.int32()), *kinds.items(), (ANSWERED, pa.bool_())])
    return to_arrow_schema(from_arrow_schema(found), timezone="UTC")  # as applyInArrow wants it


def _type(text: str) -> pa.DataType:
    """The type of a name where no page tells; text if the name does not say either."""
    if found := re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", text):
        return pa.timestamp(found[1], found[2])
    try:
        return pa.type_for_alias(text)
    except ValueError:
        return pa.string()


def _decoder(schema: pa.Schema) -> Any:
    """The function for applyInArrow, from a shard's pages to its rows."""

    def sash(pages: pa.Table) -> pa.Table:
        from sash.spark.state import rows_of

        return rows_of(pages, schema)

    return sash


def rows_of(pages: pa.Table, schema: pa.Schema) -> pa.Table:
    """A shard's rows from its pages, in order of key and time."""
    known = dict(zip(pages.column("name").to_pylist(), pages.column("page"), strict=True))
    if LIST not in known:
        return schema.empty_table()
    listing = Listing.load(known[LIST].as_py())
    tables = [_page(page, known, schema) for page in listing.pages if page.kind == ROWS]
    if not tables:
        return schema.empty_table()
    rows = pa.concat_tables(tables, promote_options="default").combine_chunks()
    order = _order(rows, listing.definition)
    rows = rows.take(pa.array(order))
    shard = pa.array(np.full(rows.num_rows, pages.column(SHARD)[0].as_py(), np.int32))
    rows = rows.append_column(SHARD, shard)
    rows = rows.append_column(ANSWERED, pa.array(answered(rows, listing)))
    return rows.select(schema.names).cast(schema)


def _page(page: Page, known: dict[str, Any], schema: pa.Schema) -> pa.Table:
    """A page's rows with the columns of its rest, which are null where it has gone."""
    table = from_bytes(known[page.name].as_buffer())
    table = table.drop_columns([name for name in (HELD,) if name in table.column_names])
    rest = known.get(rest_of(page.name))
    others = from_bytes(rest.as_buffer()) if rest is not None else None
    for field in schema:
        if field.name in (SHARD, ANSWERED) or field.name in table.column_names:
            continue
        column = pa.nulls(page.rows) if others is None else others.column(field.name)
        table = table.append_column(field.name, column)
    return table


def _order(rows: pa.Table, definition: dict[str, Any]) -> np.ndarray:
    times = numbers(one_array(rows.column(definition["time"])))
    codes = [key_codes(one_array(rows.column(name))) for name in definition["keys"]]
    return np.lexsort([times, *reversed(codes)])


def answered(rows: pa.Table, listing: Listing) -> np.ndarray:
    """Which rows, in order of key and time, have come out."""
    definition = listing.definition
    if definition["emit"] == "arrival":
        return np.ones(rows.num_rows, np.bool_)
    times = numbers(one_array(rows.column(definition["time"])))
    keys = [one_array(rows.column(name)) for name in definition["keys"]]
    begins = np.append(0, 1 + np.flatnonzero(changes(keys))) if keys else np.zeros(1, np.int64)
    reach = definition["ahead"], definition["rows ahead"]
    return live.answered(times, begins, listing.watermark, *reach)


def _moment(ticks: float, definition: dict[str, Any]) -> Any:
    """A watermark as a time, where the time column has times."""
    unit = unit_of(_type(definition["columns"][definition["time"]]))
    return ticks if unit is None else EPOCH + timedelta(microseconds=ticks * unit // 1000)
