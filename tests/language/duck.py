"""DuckDB as the oracle of windows: GROUPS, EXCLUDE and FILTER, which Spark lacks."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa


def sample(n: int, seed: int, keys: int = 3, ties: int = 2) -> pa.Table:
    """Rows of some keys, with ties in time, nulls and several types; `id` tells ties apart."""
    rng = np.random.default_rng(seed)

    def nulls(values: Any, share: float = 0.2) -> pa.Array:
        return pa.array(values, mask=rng.random(n) < share)

    return pa.table(
        {
            "id": np.arange(n),
            "k": rng.integers(0, keys, n),
            "t": np.sort(rng.integers(0, max(1, n // ties), n)),
            "i": nulls(rng.integers(-50, 50, n)),
            "x": nulls(rng.integers(-8, 8, n) / 4.0),
            "s": nulls(rng.choice(["a", "b", "cc", ""], n)),
            "b": nulls(rng.random(n) < 0.5),
        }
    )


def answers(table: pa.Table, columns: dict[str, str]) -> dict[str, list[Any]]:
    """Columns of SQL over the table `rows`, for its rows in the order of `id`."""
    rows = table  # noqa: F841  DuckDB finds it by its name
    asked = ", ".join(f'{sql} AS "{out}"' for out, sql in columns.items())
    with duckdb.connect() as connection:
        connection.register("rows", table)
        found = connection.sql(f"SELECT id, {asked} FROM rows ORDER BY id").to_arrow_table()
    return {out: found.column(out).to_pylist() for out in columns}


def over(frame: str, order: str = "t, id") -> str:
    """An OVER clause, by key, in order of time."""
    return f"OVER (PARTITION BY k ORDER BY {order} {frame})"


def same(ours: Any, theirs: Any) -> bool:
    """Equal, floats to a rounding error."""
    if isinstance(ours, float) or isinstance(theirs, float):
        if ours is None or theirs is None:
            return ours is theirs
        return bool(np.isclose(float(ours), float(theirs), rtol=1e-9, atol=1e-9, equal_nan=True))
    return bool(ours == theirs)


def assert_same(found: pa.Table, expected: dict[str, list[Any]], what: Any = "") -> None:
    """Every column of answers is the oracle's."""
    for out, theirs in expected.items():
        ours = found.column(out).to_pylist()
        wrong = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if not same(a, b)]
        assert not wrong, (
            f"{what} {out}: {len(wrong)} rows differ, first {wrong[0]}: "
            f"{ours[wrong[0]]!r}, DuckDB has {theirs[wrong[0]]!r}"
        )
