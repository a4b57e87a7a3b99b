"""Names of aggregations in other libraries, and what to write here instead."""

from __future__ import annotations

from collections.abc import Sequence

from sash.plan.checks import nearest

INSTEAD = {
    "all": 'sf.bool_and("x")',
    "any": 'sf.bool_or("x")',
    "approx_distinct": 'sf.approx_count_distinct("x")',
    "approx_n_unique": 'sf.approx_count_distinct("x")',
    "arg_max": 'sf.argmax("measure", "argument")',
    "arg_min": 'sf.argmin("measure", "argument")',
    "average": 'sf.mean("x")',
    "countif": 'sf.count_if("x > 0")',
    "cum_sum": 'sf.sum("x").over(sash.lifetime())',
    "cumcount": "sf.row_number()",
    "cummax": 'sf.max("x").over(sash.lifetime())',
    "cummin": 'sf.min("x").over(sash.lifetime())',
    "cumsum": 'sf.sum("x").over(sash.lifetime())',
    "diff": 'sf.col("x") - sf.lag("x")',
    "ema": 'sf.decayed_mean("x", "1 hour")',
    "ewm": 'sf.decayed_mean("x", "1 hour")',
    "ewm_mean": 'sf.decayed_mean("x", "1 hour")',
    "ewma": 'sf.decayed_mean("x", "1 hour")',
    "group_concat": 'sf.listagg("x", ", ")',
    "implode": 'sf.collect_list("x")',
    "kurt": 'sf.kurtosis("x")',
    "len": "sf.count()",
    "list": 'sf.collect_list("x")',
    "n_unique": 'sf.count_distinct("x")',
    "nunique": 'sf.count_distinct("x")',
    "pct_change": 'sf.col("x") / sf.lag("x") - 1',
    "percentile_cont": 'sf.percentile("x", 0.9)',
    "percentile_disc": 'sf.percentile("x", 0.9, interpolation="lower")',
    "prod": 'sf.product("x")',
    "quantile": 'sf.percentile("x", 0.9)',
    "quantile_cont": 'sf.percentile("x", 0.9)',
    "quantile_disc": 'sf.percentile("x", 0.9, interpolation="lower")',
    "set": 'sf.collect_set("x")',
    "shift": 'sf.lag("x", 1)',
    "size": "sf.count()",
    "skew": 'sf.skewness("x")',
    "std_dev": 'sf.stddev("x")',
    "stdev": 'sf.stddev("x")',
    "sum_if": 'sf.sum("x").where("y > 0")',
    "sumif": 'sf.sum("x").where("y > 0")',
    "total": 'sf.sum("x")',
    "unique": 'sf.collect_set("x")',
    "uniq": 'sf.count_distinct("x")',
    "var": 'sf.variance("x")',
}
"""The call to write, by the name in lower case that SQL, pandas, polars or Flink have for it."""


def unknown(name: str, names: Sequence[str]) -> str:
    """The message for a name that `sash.functions` does not have.

    >>> unknown("nunique", ["sum"])
    'sash.functions has no nunique: write sf.count_distinct("x")'
    """
    rolling = name.removeprefix("rolling_").removeprefix("cumulative_")
    if rolling != name and rolling in names:
        end = '"1 hour"' if name.startswith("rolling_") else "sash.lifetime()"
        return f'sash.functions has no {name}: write sf.{rolling}("x").over({end})'
    if name.lower() in INSTEAD:
        return f"sash.functions has no {name}: write {INSTEAD[name.lower()]}"
    return f"sash.functions has no {name}{nearest(name, names) or '; see dir(sash.functions)'}"
