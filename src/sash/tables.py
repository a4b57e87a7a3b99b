"""`windowed` and `features`: windows over a table of any kind, one definition for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from sash import functions as sf
from sash.engine.definition import Aggregation, Query
from sash.engine.table import aggregate


class Windowed:
    """A table, its keys and its time: `.agg(name=sf.max("x").over("1 hour"))`."""

    def __init__(self, data: Any, by: Sequence[str], time: str, options: dict[str, Any]) -> None:
        self._data, self._by, self._time, self._options = data, tuple(by), time, options

    def agg(self, **aggregations: Aggregation) -> Any:
        """The table with one column more for each aggregation, of the same kind as it came."""
        if not aggregations:
            raise TypeError('agg needs at least one aggregation: n=sf.count().over("1 hour"), say')
        for name, a in aggregations.items():
            if not isinstance(a, Aggregation):
                raise TypeError(f'{name}: expected sf.max("x").over(…) or the like, not {a!r}')
        return self._run(Query(self._by, self._time, aggregations))

    def _run(self, query: Query) -> Any:
        kind = type(self._data).__module__.partition(".")[0]
        if kind == "pyspark":
            from sash.spark.batch import aggregate as on_spark

            return on_spark(self._data, query, **self._options)
        return _in_process(self._data, query)


def _in_process(data: Any, query: Query) -> Any:
    kind = type(data).__module__.partition(".")[0]
    if isinstance(data, pa.Table):
        return aggregate(query, data)
    if kind == "polars":
        import polars

        return polars.from_arrow(aggregate(query, data.to_arrow()))
    if kind == "pandas":
        return _pandas(data, query)
    raise TypeError(
        f"windowed takes a Spark, pandas or polars DataFrame or a pyarrow Table, not {type(data)!r}"
    )


def _pandas(data: Any, query: Query) -> Any:
    needed = [name for name in query.columns() if name in data.columns]
    table = pa.Table.from_pandas(data[needed], preserve_index=False)
    found = aggregate(query, table).select(list(query.aggregations)).to_pandas()
    return data.assign(**{name: found[name].to_numpy() for name in query.aggregations})


def windowed(data: Any, by: str | Sequence[str] = (), *, time: str, **options: Any) -> Windowed:
    """Windows over `data` by key and time: a Spark, pandas or polars DataFrame, a pyarrow Table.

    >>> import pyarrow as pa, sash
    >>> from sash import functions as sf
    >>> table = pa.table({"t": [1, 2, 4], "x": [5, 3, 4]})
    >>> hi = sf.max("x").over(sash.range_between(-2, 0))
    >>> sash.windowed(table, time="t").agg(hi=hi).column("hi").to_pylist()
    [5, 5, 4]
    """
    return Windowed(data, (by,) if isinstance(by, str) else by, time, options)


def features(
    data: Any,
    by: str | Sequence[str],
    time: str,
    aggregations: Mapping[str, Sequence[str]],
    windows: Sequence[str],
) -> Any:
    """Many windows at once: columns named `amount_sum_7d` for each column, name and window.

    >>> import pyarrow as pa, sash, datetime as dt
    >>> days = [dt.datetime(2024, 1, d) for d in (1, 2, 9)]
    >>> table = pa.table({"u": [1, 1, 1], "ts": days, "x": [1.0, 2.0, 3.0]})
    >>> sash.features(table, "u", "ts", {"x": ["sum"]}, ["7d"]).column("x_sum_7d").to_pylist()
    [1.0, 3.0, 5.0]
    """
    found = {}
    for column, names in aggregations.items():
        for name in names:
            if name not in sf.__all__:
                raise ValueError(
                    f"{column}: no aggregation {name!r}; there are {', '.join(sf.__all__)}"
                )
            for window in windows:
                found[f"{column}_{name}_{window}"] = getattr(sf, name)(column).over(window)
    return windowed(data, by, time=time).agg(**found)
