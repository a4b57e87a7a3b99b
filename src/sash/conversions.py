"""Tables of any kind in process: as Arrow, and answers back in the kind that the table came in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

KINDS = (
    "a pandas or polars DataFrame, a polars LazyFrame, a pyarrow Table, RecordBatch or "
    "RecordBatchReader, a DuckDB relation, or an object with __arrow_c_stream__"
)


Sources = Callable[[str], Sequence[str]]
"""The columns of a table that a column of the answers is made of."""

COMPUTABLE = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
"""Types that Arrow computes with, instead of those that it only stores."""


def computable(table: pa.Table) -> pa.Table:
    """A table whose text and bytes are of types that Arrow computes with."""
    for place, field in enumerate(table.schema):
        if field.type in COMPUTABLE:
            column = table.column(place).cast(COMPUTABLE[field.type])
            table = table.set_column(place, field.with_type(column.type), column)
    return table


class Source:
    """A table in process. Kinds that no class below knows get Arrow tables back."""

    name = "pyarrow"

    def __init__(self, data: Any) -> None:
        self.data = data

    def names(self) -> list[str]:
        """The names of all columns."""
        return list(self.schema().names)

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        """The Arrow schema, without reading rows where that is possible."""
        return self.table().schema

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows; those columns at least, where others would cost a conversion."""
        return pa.table(self.data)

    def like(self, answers: pa.Table, sources: Sources) -> Any:
        """A table in the kind of this one."""
        return answers

    def with_answers(self, found: pa.Table, answers: Sequence[str], sources: Sources) -> Any:
        """This table with the columns `answers` of `found`, which has its rows in its order."""
        return self.like(found, sources)

    def hint(self, name: str) -> str:
        """Advice for a missing column, where this kind of table has some."""
        return ""


class ArrowTable(Source):
    """A pyarrow Table."""

    name = "pyarrow"

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        return self.data

    def with_answers(self, found: pa.Table, answers: Sequence[str], sources: Sources) -> pa.Table:
        fields = [*self.data.schema, *(found.schema.field(name) for name in answers)]
        columns = [*self.data.columns, *(found.column(name) for name in answers)]
        return pa.table(columns, schema=pa.schema(fields, self.data.schema.metadata))


class ArrowBatch(Source):
    """A pyarrow RecordBatch."""

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        return pa.Table.from_batches([self.data])

    def like(self, answers: pa.Table, sources: Sources) -> pa.RecordBatch:
        whole = answers.combine_chunks().to_batches()
        return whole[0] if whole else pa.RecordBatch.from_pylist([], schema=answers.schema)


class ArrowReader(Source):
    """A pyarrow RecordBatchReader, which can be read once; its rows are kept for a second call."""

    _read: pa.Table | None = None

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        return self.data.schema

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        if self._read is None:
            self._read = self.data.read_all()
        return self._read

    def like(self, answers: pa.Table, sources: Sources) -> pa.RecordBatchReader:
        return answers.to_reader()


class Polars(Source):
    """A polars DataFrame."""

    name = "polars"

    def names(self) -> list[str]:
        return list(self.data.columns)

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        return self.data.head(0).to_arrow().schema

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        return self.data.to_arrow()

    def like(self, answers: pa.Table, sources: Sources) -> Any:
        import polars

        return polars.from_arrow(answers)

    def with_answers(self, found: pa.Table, answers: Sequence[str], sources: Sources) -> Any:
        return self.data.hstack(self.like(found.select(list(answers)), sources))


class PolarsLazy(Polars):
    """A polars LazyFrame, which is collected when the call is made."""

    def names(self) -> list[str]:
        return list(self.data.collect_schema().names())

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        return self.data.head(0).collect().to_arrow().schema

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        return self.data.collect().to_arrow()

    def like(self, answers: pa.Table, sources: Sources) -> Any:
        return super().like(answers, sources).lazy()

    def with_answers(self, found: pa.Table, answers: Sequence[str], sources: Sources) -> Any:
        return Source.with_answers(self, found, answers, sources)


class Pandas(Source):
    """A pandas DataFrame. Only columns that are read are converted; the others stay as they are.

    Answers are of the family of types that the columns they are made of have: NumPy's, those
    with nulls, Arrow's, categories.
    """

    name = "pandas"

    def names(self) -> list[str]:
        return [name for name in self.data.columns if isinstance(name, str)]

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        return pa.Schema.from_pandas(self._part(columns), preserve_index=False).remove_metadata()

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        found = pa.Table.from_pandas(self._part(columns), preserve_index=False)
        return found.replace_schema_metadata()

    def _part(self, columns: Sequence[str] | None) -> Any:
        if columns is None:
            if hint := self._unnamed():
                raise TypeError(hint)
            return self.data
        return self.data[[name for name in columns if name in self.data.columns]]

    def like(self, answers: pa.Table, sources: Sources) -> Any:
        from sash.pandas_types import as_pandas

        return as_pandas(answers, self.data, sources)

    def with_answers(self, found: pa.Table, answers: Sequence[str], sources: Sources) -> Any:
        columns = self.like(found.select(list(answers)), sources)
        return self.data.assign(**{name: columns[name].array for name in answers})

    def _unnamed(self) -> str:
        """Advice for names of columns that are no strings, if there are any."""
        others = [name for name in self.data.columns if not isinstance(name, str)]
        if not others:
            return ""
        return f"names of columns are strings, not {others[0]!r}: use df.rename(columns=str)"

    def hint(self, name: str) -> str:
        index = self.data.index
        if name and name in index.names:
            return f"{name!r} is in the index: use df.reset_index()"
        if not name and str(index.dtype).startswith("datetime"):
            return 'the times are in the index: use df.reset_index(names="time")'
        return self._unnamed() if name not in self.data.columns else ""


class DuckDB(Source):
    """A DuckDB relation; answers are a relation of the same connection."""

    name = "DuckDB"

    def names(self) -> list[str]:
        return list(self.data.columns)

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        return pa.table(self.data.limit(0)).schema

    def like(
        self, answers: pa.Table, sources: Sources
    ) -> Any:  # DuckDB finds the variable by its name
        return self.data.query("sash_rows", "SELECT * FROM answers")


ARROW = {pa.Table: ArrowTable, pa.RecordBatch: ArrowBatch, pa.RecordBatchReader: ArrowReader}
OTHERS = {
    ("polars", "DataFrame"): Polars, ("polars", "LazyFrame"): PolarsLazy,
    ("pandas", "DataFrame"): Pandas, ("duckdb", "DuckDBPyRelation"): DuckDB,
}  # fmt: skip


def package_of(data: Any) -> str:
    """The package that the data's type, or the type that it extends, is from."""
    return type(data).__module__.partition(".")[0]


def source_of(data: Any, takes: str) -> Source:
    """The data as a source; TypeError, which begins with `takes`, for what is no table."""
    for base in type(data).__mro__:
        found = ARROW.get(base) or OTHERS.get((base.__module__.partition(".")[0], base.__name__))
        if found is not None:
            return found(data)
    if hasattr(data, "__arrow_c_stream__"):
        return Source(data)
    shown = f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")
    raise TypeError(f"{takes} {KINDS}, not {shown}")
