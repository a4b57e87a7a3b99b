"""Order: keys as numbers, times as numbers, and the order that sorts rows by both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.arrangement import Codes
from sash.engine.columns import numbers
from sash.engine.fixed import room
from sash.engine.team import Team
from sash.plan.about import About, concerning
from sash.plan.definition import Query
from sash.plan.types import number_type

NULLS_PER_KEY = int(pa.__version__.partition(".")[0]) >= 25


def ticks(column: pa.Array, name: str, descending: bool = False, nulls: bool = False) -> np.ndarray:
    """A time column as increasing numbers: int64, or floats as wide as they come.

    `nulls`: a row without a time is the least, as in Spark; otherwise it is an error.

    Descending times are turned around: ~t is -t - 1, which no integer overflows, and steps
    between times stay what they are.
    """
    if column.null_count and nulls:
        column = _least_for_null(column, name)
    if column.null_count:
        problem = ValueError(
            f"the time column {name!r} has {column.null_count} null(s): drop those rows, or "
            "give them a time"
        )
        raise concerning(problem, About("time", name))
    times = numbers(column)
    if times.dtype.kind == "f":
        if np.isnan(times).any():
            problem = ValueError(f"the time column {name!r} has NaN: drop those rows")
            raise concerning(problem, About("time", name))
        return -times if descending else times
    if times.dtype == np.uint64 and len(times) and int(times.max()) >= 1 << 63:
        problem = ValueError(
            f"the time column {name!r} is uint64 and has {times.max()}, which is past the end of "
            "int64: subtract a constant from the column first"
        )
        raise concerning(problem, About("time", name))
    times = times.astype(np.int64, copy=False)
    return ~times if descending else times


def _least_for_null(column: pa.Array, name: str) -> pa.Array:
    """The column as numbers, the least there is instead of nulls."""
    known = numbers(column.drop_null())
    is_float = known.dtype.kind == "f"
    least = known.dtype.type("-inf") if is_float else np.iinfo(np.int64).min
    if (known == least).any():
        wrong = f"the time column {name!r} has nulls and {least}, which they stand for"
        raise concerning(ValueError(wrong), About("time", name))
    times = np.full(len(column), least, known.dtype if is_float else np.int64)
    times[np.asarray(column.is_valid())] = known
    return pa.array(times)


def tick_type(kind: pa.DataType) -> np.dtype:
    """The dtype of a time column's `ticks`. Spark adds a float and its bound as floats."""
    number = number_type(kind)
    return number if number is not None and number.kind == "f" else np.dtype(np.int64)


def key_codes(column: pa.Array) -> np.ndarray:
    """A number for each distinct value of a key column; nulls have one of their own.

    0.0 and -0.0 are one key, and so are all NaN, as in Spark.
    """
    with Team(1) as alone:
        return column_codes(column, alone).values


def _one_zero(column: pa.Array) -> pa.Array:
    """Floats with one zero and one NaN."""
    nulls = np.asarray(column.is_null()) if column.null_count else None
    values = column.to_numpy(zero_copy_only=False) + 0.0  # -0.0 + 0.0 is 0.0
    values[np.isnan(values)] = np.nan
    return pa.array(values, mask=nulls)


DIRECT = 1 << 16
"""Integer keys whose range is below this, or below twice the rows, are codes themselves."""


def codes_of(columns: list[pa.Array], team: Team) -> Codes | None:
    """One number for each distinct row of key columns; None where there are none."""
    found = None
    for column in columns:
        codes = column_codes(column, team)
        if found is not None:
            both = found.values * codes.size + codes.values  # 2 n each: in 64 bits
            codes = integer_codes(both, team)
        found = codes
    return found


def column_codes(column: pa.Array, team: Team) -> Codes:
    """A number for each distinct value of a key column, all below a count."""
    if pa.types.is_dictionary(column.type):
        values = column_codes(column.dictionary, team)
        nulls = np.asarray(column.dictionary.is_null())
        column = pa.array(values.values, mask=nulls).take(column.indices)
    elif pa.types.is_floating(column.type):
        half = pa.types.is_float16(column.type)  # which old versions of pyarrow cannot hash
        column = _one_zero(column.cast(pa.float32()) if half else column)
    if pa.types.is_integer(column.type) and column.null_count == 0:
        return integer_codes(column.to_numpy(), team)
    return hashed(column, team)


def integer_codes(values: np.ndarray, team: Team) -> Codes:
    """Integers less the least of them, or hashed where they are far apart."""
    found = direct_codes([values], team)
    return hashed(pa.array(values), team) if found is None else found[0]


def direct_codes(parts: list[np.ndarray], team: Team) -> list[Codes] | None:
    """For each part of some integers, of one type, its integers less the least of all; None
    where they are far apart."""
    ends = [_ends(values, team) for values in parts if len(values)]
    if not ends:
        return [Codes(np.zeros(0, np.int64), 1) for _ in parts]
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    dense = max(DIRECT, 2 * sum(map(len, parts)))
    if most - least >= dense:
        return None
    if parts[0].dtype == np.int64 and least >= 0 and most < dense:
        return [Codes(np.ascontiguousarray(values), most + 1) for values in parts]
    return [Codes(_less(values, least, team), most - least + 1) for values in parts]


def _ends(values: np.ndarray, team: Team) -> tuple[int, int]:
    """The least and the largest of some integers."""
    least = min(team.over(len(values), lambda a, b: int(values[a:b].min())))
    return least, max(team.over(len(values), lambda a, b: int(values[a:b].max())))


def _less(values: np.ndarray, by: int, team: Team) -> np.ndarray:
    codes, zero = room(len(values), np.int64), values.dtype.type(by)

    def less(a: int, b: int) -> None:
        np.subtract(values[a:b], zero, codes[a:b], dtype=np.int64, casting="unsafe")

    team.over(len(values), less)
    return codes


def hashed(column: pa.Array, team: Team) -> Codes:
    """Numbers for distinct values in the order of their first rows; 0 is that of nulls."""
    n = len(column)
    parts = team.over(n, lambda a, b: column.slice(a, b - a).dictionary_encode())
    whole = pa.chunked_array(parts).unify_dictionaries() if len(parts) > 1 else parts
    chunks = whole.chunks if isinstance(whole, pa.ChunkedArray) else whole
    codes, count = room(n, np.int64), len(chunks[0].dictionary) if n else 0

    def fill(k: int) -> None:
        first = sum(len(chunk) for chunk in chunks[:k])
        indices = chunks[k].indices.fill_null(-1).to_numpy(zero_copy_only=False)
        np.add(indices, 1, codes[first : first + len(indices)])

    team.map(fill, range(len(chunks)))
    return Codes(codes, count + 1)


def tie_order(query: Query, table: pa.Table) -> pa.Array:
    """The order of a table's rows by the columns that order rows of equal time."""
    way, nulls = ("descending", "at_end") if query.descending else ("ascending", "at_start")
    return rows_by(table, [(name, way, nulls) for name in query.ties])


def rows_by(table: pa.Table, keys: Sequence[tuple[str, str, str]]) -> pa.Array:
    """The order of rows by columns: a name, "ascending" or "descending", and where nulls go.

    Arrow takes the place of nulls per column since pyarrow 25; before, a column of its own says
    which values are null.
    """
    if NULLS_PER_KEY:
        return pc.sort_indices(table, sort_keys=list(keys))
    columns, plain = {}, []
    for i, (name, way, nulls) in enumerate(keys):
        columns[f"{i} null"], columns[f"{i}"] = pc.is_null(table.column(name)), table.column(name)
        plain += [
            (f"{i} null", "descending" if nulls == "at_start" else "ascending"),
            (f"{i}", way),
        ]
    return pc.sort_indices(pa.table(columns), sort_keys=plain)
