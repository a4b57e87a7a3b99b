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
from pyspark.sql.pandas.types import from_arrow_schema

from sash.engine.columns import numbers, one_array
from sash.engine.order import key_codes
from sash.engine.stream.manifest import NAME, Manifest
from sash.engine.stream.pages import BytesPages, Page, Pages, from_bytes
from sash.engine.stream.tails import Tails
from sash.engine.stream.waiting import EMITTED
from sash.plan.types import unit_of
from sash.spark.processor import STATE
from sash.spark.types import in_utc

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
    micro-batch, the last one by default. Costs a read of all the state. Partials (of slices,
    of keys, of neighbouring bulks) are no rows: describe_state counts them.

    For example, the rows that each user's windows hold, of a running or a stopped stream::

        rows = sash.spark.read_state(spark, "checkpoint")
        rows.groupBy("user").count().show()
    """
    number = _operator(spark, location, operator)
    pages = _pages(spark, location, number, batch)
    schema = _schema(pages, _manifests(pages))
    decode = _decoder(schema)
    return pages.groupBy(SHARD).applyInArrow(decode, from_arrow_schema(schema))


def describe_state(
    spark: SparkSession, location: str, *, operator: int | None = None, batch: int | None = None
) -> dict[str, Any]:
    """The definition of a checkpoint's windows and how much they hold, from the manifests.

    `definition`, `watermark`, `complete_from` (from when on all rows are held; None: all there
    ever were), `shards` that have been used, `pages`, `rows`, `slices` (with `every`, one per
    key and slice), `partials` per key, and `bytes`.

    For example, how many rows a stream holds, and up to when it has answered::

        held = sash.spark.describe_state(spark, "checkpoint")
        print(held["rows"], held["bytes"], held["watermark"])
    """
    number = _operator(spark, location, operator)
    known = list(manifests(spark, location, number, batch).values())
    marks = [each.watermark for each in known if each.watermark is not None]
    complete = [each.complete for each in known if each.complete is not None]
    definition = known[0].definition if known else {}
    nodes = [node for each in known for node in each.bulks.nodes.values()]
    leaves = sum(page.rows for node in nodes for page in (node.rows, *node.late) if page)
    sliced = definition.get("every") is not None and bool(definition["partials"])
    return {
        "operator": number,
        "definition": definition,
        "watermark": _moment(max(marks), definition) if marks else None,
        "complete_from": _moment(max(complete), definition) if complete else None,
        "shards": len(known),
        "pages": sum(len(each.pages) for each in known),
        "rows": sum(each.rows for each in known) - (leaves if sliced else 0),
        "slices": leaves if sliced else 0,
        "partials": sum(node.map.rows for node in nodes if node.map is not None),
        "bytes": sum(each.size for each in known),
    }


def operators(spark: SparkSession, location: str) -> list[int]:
    """The numbers of a query's calls of sash.windowed; none where there is no such checkpoint."""
    known = spark.read.format("state-metadata").load(location)
    rows = known.select("operatorId", "operatorName", "operatorProperties").distinct().collect()
    return sorted(
        row.operatorId
        for row in rows
        if row.operatorName.startswith(OPERATOR) and f'"{STATE}"' in row.operatorProperties
    )


def manifests(
    spark: SparkSession, location: str, operator: int, batch: int | None = None
) -> dict[int, Manifest]:
    """The manifest of each shard of a call, as of a micro-batch, the last one by default."""
    return _manifests(_pages(spark, location, operator, batch))


def _operator(spark: SparkSession, location: str, asked: int | None) -> int:
    ours = operators(spark, location)
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


def _manifests(pages: DataFrame) -> dict[int, Manifest]:
    """The shards' manifests."""
    found = pages.where(F.col("name") == NAME).collect()
    return {row.shard: Manifest.load(row.page) for row in found}


def _schema(pages: DataFrame, manifests: dict[int, Manifest]) -> pa.Schema:
    """The columns that come out, of the types that pages have."""
    definition = next(iter(manifests.values())).definition if manifests else None
    texts = {} if definition is None else {**definition["columns"], **definition["other columns"]}
    kinds = {name: _type(text) for name, text in texts.items()}
    known = [page for each in manifests.values() for page, _ in _with_rows(each)]
    known += [each.page for m in manifests.values() for each in m.pending]
    if known:
        chosen = pages.where(F.col("name").isin([page.name for page in known[-1:]])).collect()
        seen = {f.name: f.type for row in chosen for f in from_bytes(row.page).schema}
        kinds = {name: seen.get(name, kind) for name, kind in kinds.items()}
    found = pa.schema([(SHARD, pa.int32()), *kinds.items(), (ANSWERED, pa.bool_())])
    return in_utc(found)


def _with_rows(manifest: Manifest) -> list[tuple[Page, Page | None]]:
    """The pages of rows in bulks, and of the columns that wait beside them."""
    if manifest.definition["every"] is None:
        nodes = list(manifest.bulks.nodes.values())
    else:
        nodes = list(manifest.reread.nodes.values())
    found = [(node.rows, node.rest) for node in nodes if node.rows is not None]
    return found + [(page, None) for node in nodes for page in node.late]


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
    if NAME not in known:
        return schema.empty_table()
    manifest = Manifest.load(known[NAME].as_py())
    tables = [_bulk(page, rest, known, schema, manifest) for page, rest in _with_rows(manifest)]
    for each in manifest.pending:
        table = from_bytes(known[each.page.name].as_buffer()).slice(each.start)
        tables.append(_fitted(table, schema, np.zeros(table.num_rows, np.bool_)))
    tables += _tails(manifest, known, schema)
    if not tables:
        return schema.empty_table()
    rows = pa.concat_tables(tables, promote_options="default").combine_chunks()
    rows = rows.take(pa.array(_order(rows, manifest.definition)))
    shard = pa.array(np.full(rows.num_rows, pages.column(SHARD)[0].as_py(), np.int32))
    return rows.append_column(SHARD, shard).select(schema.names).cast(schema)


def _bulk(
    page: Page, rest: Page | None, known: dict[str, Any], schema: pa.Schema, manifest: Manifest
) -> pa.Table:
    """A bulk's rows with the columns that wait beside them, which are null once they are gone."""
    table = from_bytes(known[page.name].as_buffer())
    if rest is not None:
        for name, column in zip(*_columns(from_bytes(known[rest.name].as_buffer())), strict=True):
            table = table.append_column(name, column)
    definition, mark = manifest.definition, manifest.watermark
    answered = np.ones(table.num_rows, np.bool_)
    if definition["emit"] == "final":
        times = numbers(one_array(table.column(definition["time"])))
        answered = times <= (-np.inf if mark is None else mark - (definition["ahead"] or 0))
    return _fitted(table, schema, answered)


def _tails(manifest: Manifest, known: dict[str, Any], schema: pa.Schema) -> list[pa.Table]:
    """The last rows of keys, and rows that wait for others after them."""
    store = BytesPages({name: page.as_buffer() for name, page in known.items()})  # type: ignore[arg-type]
    found = []
    for name, pages in manifest.tails.items():
        if name.startswith("so far"):
            continue
        tails = Tails(name, manifest, Pages(store), manifest.definition["time"])
        table = tails.read(tails.keys()) if pages else None
        if table is not None:
            answered = np.ones(table.num_rows, np.bool_)
            if EMITTED in table.column_names:
                answered = np.asarray(one_array(table.column(EMITTED)))
            found.append(_fitted(table, schema, answered))
    return found


def _columns(table: pa.Table) -> tuple[list[str], list[Any]]:
    return table.column_names, table.columns


def _fitted(table: pa.Table, schema: pa.Schema, answered: np.ndarray) -> pa.Table:
    columns = {
        name: table.column(name) if name in table.column_names else pa.nulls(table.num_rows)
        for name in schema.names
        if name not in (SHARD, ANSWERED)
    }
    return pa.table({**columns, ANSWERED: pa.array(answered)})


def _order(rows: pa.Table, definition: dict[str, Any]) -> np.ndarray:
    times = numbers(one_array(rows.column(definition["time"])))
    codes = [key_codes(one_array(rows.column(name))) for name in definition["keys"]]
    return np.lexsort([times, *reversed(codes)])


def _moment(ticks: float, definition: dict[str, Any]) -> Any:
    """A watermark as a time, where the time column has times."""
    unit = unit_of(_type(definition["columns"][definition["time"]]))
    return ticks if unit is None else EPOCH + timedelta(microseconds=ticks * unit // 1000)
