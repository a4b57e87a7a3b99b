"""A source of files as an Arrow table, read in this process with Spark's meaning.

Without a schema the types of a CSV file are inferred from all its rows, and strings of a JSON
file stay strings. A row that does not fit is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, json, parquet

from sash.cli import files
from sash.cli.engine import delimiter
from sash.cli.errors import EndError, one_line
from sash.cli.pipeline import Source
from sash.cli.schema import simple_schema


def read(source: Source) -> pa.Table:
    """All rows of a source."""
    schema = None if source.schema is None else simple_schema(source.schema)
    one = {"parquet": _parquet, "csv": _csv, "json": _json}[source.format]
    tables = [one(source, file, schema) for file in files.data_files(source)]
    with _at(source.path, "columns have other types in some files; give a schema"):
        table = pa.concat_tables(tables, promote_options="permissive")
    return table.replace_schema_metadata(None)  # pandas' says what no longer holds


def _parquet(source: Source, file: Path, schema: pa.Schema | None) -> pa.Table:
    with _at(file, "cannot be read"):
        # a dataset would import pandas, which takes longer than the rest
        table = parquet.ParquetFile(file).read()
    if schema is None:
        return table
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        source.table.wrong("schema", f"{file} has no column {missing[0]!r}")
    with _at(file, "does not fit the schema"):
        return table.select(schema.names).cast(schema)


def _csv(source: Source, file: Path, schema: pa.Schema | None) -> pa.Table:
    types = None if schema is None else {field.name: _as_read(field.type) for field in schema}
    converting = csv.ConvertOptions(
        # "NA" is a text and "NaN" a number; nothing between two commas is null
        null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False,
        column_types=types,
    )  # fmt: skip
    parsing = csv.ParseOptions(delimiter=delimiter(source.options))

    def load(threads: bool) -> pa.Table:
        reading = csv.ReadOptions(use_threads=threads)
        return csv.read_csv(file, reading, parsing, converting)

    with _at(file, "a corrupt row"):
        try:
            table = load(threads=True)
        except pa.ArrowInvalid:
            table = load(threads=False)  # to have the row's number in the error
    if schema is not None and table.column_names != schema.names:
        names = (", ".join(each) for each in (table.column_names, schema.names))
        source.table.wrong("schema", "{} has the columns {}, the schema {}".format(file, *names))
    return _micros(table) if schema is None else _cast(file, table, schema)


def _json(source: Source, file: Path, schema: pa.Schema | None) -> pa.Table:
    def load(types: pa.Schema | None) -> pa.Table:
        return json.read_json(file, parse_options=json.ParseOptions(explicit_schema=types))

    with _at(file, "a corrupt row"):
        if schema is not None:
            wanted = pa.schema([(field.name, _as_read(field.type)) for field in schema])
            return _cast(file, load(wanted).select(schema.names), schema)
        table = load(None)
        times = [(f.name, pa.string()) for f in table.schema if pa.types.is_timestamp(f.type)]
        table = load(pa.schema(times)) if times else table
        return table.select(sorted(table.column_names))


def _as_read(kind: pa.DataType) -> pa.DataType:
    """The type to read a column as: times and decimals are texts that are cast afterwards."""
    is_text = pa.types.is_temporal(kind) or pa.types.is_decimal(kind)
    return pa.string() if is_text else kind


def _cast(file: Path, table: pa.Table, schema: pa.Schema) -> pa.Table:
    for place, field in enumerate(schema):
        column = table.column(place)
        if column.type != field.type:
            with _at(file, f"a corrupt row: column {field.name}"):
                is_time = field.type == pa.timestamp("us", "UTC")
                column = _time(column) if is_time else column.cast(field.type)
            table = table.set_column(place, field.name, column)
    return table


def _time(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times with a zone as UTC; times without one as they are."""
    zoned = pc.match_substring_regex(texts, r"(Z|[+-]\d\d:?\d\d)\s*$")
    return texts.cast(pa.timestamp("us", "UTC" if pc.any(zoned).as_py() else None))


def _micros(table: pa.Table) -> pa.Table:
    """Times in microseconds, as Spark has them."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            kind = pa.timestamp("us", field.type.tz)
            table = table.set_column(place, field.name, table.column(place).cast(kind, safe=False))
    return table


@contextmanager
def _at(place: object, what: str) -> Iterator[None]:
    """End with what was wrong, and where, if Arrow says so."""
    try:
        yield
    except (pa.ArrowException, OSError) as problem:
        raise EndError(f"{place}: {what}: {one_line(problem)}") from problem
