"""Calls of SQL as aggregations: `sum(x) FILTER (WHERE …)` as `sf.sum("x").where(…)`.

A function goes by the name that `sash.functions` has for it, or by the name that the user gave
to a monoid. Arguments that are columns may be any expression; the others must be constants.
"""

from __future__ import annotations

import inspect
from typing import Any, Protocol

from sqlglot import exp

from sash import functions as sf
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Expression, as_expression
from sash.sql.errors import NotTaken
from sash.sql.literals import value_of

NAMES: dict[type[exp.Expr], str] = {
    exp.AnyValue: "any_value", exp.ApproxDistinct: "approx_count_distinct",
    exp.ApproxQuantile: "percentile_approx", exp.ApproxTopK: "approx_top_k",
    exp.ArgMax: "max_by", exp.ArgMin: "min_by", exp.ArrayAgg: "collect_list",
    exp.ArrayUniqueAgg: "collect_set", exp.Avg: "mean", exp.Corr: "corr", exp.Count: "count",
    exp.CountIf: "count_if", exp.CovarPop: "covar_pop", exp.CovarSamp: "covar_samp",
    exp.CumeDist: "cume_dist", exp.DenseRank: "dense_rank", exp.First: "first",
    exp.FirstValue: "first_value", exp.GroupConcat: "listagg", exp.Kurtosis: "kurtosis",
    exp.Lag: "lag", exp.Last: "last", exp.LastValue: "last_value", exp.Lead: "lead",
    exp.LogicalAnd: "bool_and", exp.LogicalOr: "bool_or", exp.Max: "max", exp.Median: "median",
    exp.Min: "min", exp.Mode: "mode", exp.NthValue: "nth_value", exp.Ntile: "ntile",
    exp.PercentRank: "percent_rank", exp.Quantile: "percentile", exp.Rank: "rank",
    exp.RegrAvgx: "regr_avgx", exp.RegrAvgy: "regr_avgy", exp.RegrCount: "regr_count",
    exp.RegrIntercept: "regr_intercept", exp.RegrR2: "regr_r2", exp.RegrSlope: "regr_slope",
    exp.RegrSxx: "regr_sxx", exp.RegrSxy: "regr_sxy", exp.RegrSyy: "regr_syy",
    exp.RowNumber: "row_number", exp.Skewness: "skewness", exp.Stddev: "stddev",
    exp.StddevPop: "stddev_pop", exp.StddevSamp: "stddev", exp.Sum: "sum",
    exp.Variance: "variance", exp.VariancePop: "var_pop",
}  # fmt: skip
"""The functions that sqlglot has classes for, by the names of `sash.functions`."""

COLUMNS = ("column", "condition", "measure", "argument", "weight", "x", "y")
"""How `sash.functions` calls the parameters that are columns; others are constants."""

SPELLED = {
    "std": "stddev", "avg": "mean", "sumdistinct": "sum_distinct", "maxcount": "max_count",
    "mincount": "min_count", "geometric_mean": "geomean", "every": "bool_and", "some": "bool_or",
    "any": "bool_or",
}  # fmt: skip
"""Other names of some functions, as PostgreSQL, DuckDB and the papers have them."""

IGNORING = ("first", "last", "first_value", "last_value", "nth_value", "lag", "lead", "any_value")
KNOWN = [name for name in sf.__all__ if name not in ("TIME", "apply", "function", "window_rank")]


ELSEWHERE = {
    "duckdb": frozenset({"mode", "skewness", "kurtosis", "corr", "regr_slope", "regr_intercept",
                         "regr_r2"}),
}  # fmt: skip
"""Functions that mean something else in a dialect: ties, samples, NaN in the place of null."""


class Functions(dict[str, Any]):
    """The user's monoids by name; `elsewhere`: functions that the dialect means differently."""

    elsewhere: frozenset[str] = frozenset()


class Inputs(Protocol):
    """Arguments of aggregations: as expressions of Sash, or as columns that the host computes."""

    def of(self, node: exp.Expr) -> Any:
        """A column's name or an expression."""


def is_aggregate(node: exp.Expr, functions: Functions) -> bool:
    """Whether a call aggregates rows, by itself or by the name of a function of the user's."""
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        return name in functions or SPELLED.get(name, name) in KNOWN
    if isinstance(node, exp.AggFunc | exp.WithinGroup | exp.Filter):
        return True
    return type(node) in NAMES


def called(node: exp.Expr, inputs: Inputs, functions: Functions) -> Expression:
    """A call as an aggregation without a frame, or as a rank or lag; NotTaken says why not."""
    if isinstance(node, exp.Filter):
        found = called(node.this, inputs, functions)
        if not isinstance(found, Aggregation):
            raise NotTaken(f"{node.this.sql()} takes no FILTER")
        return found.where(as_column(inputs.of(node.expression.this)))
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        return _call(node.this, inputs, functions, isinstance(node, exp.IgnoreNulls))
    return _call(node, inputs, functions, False)


def as_column(thing: Any) -> Expression:
    """A column's name as an expression."""
    return sf.col(thing) if isinstance(thing, str) else as_expression(thing)


def _call(node: exp.Expr, inputs: Inputs, functions: Functions, ignore_nulls: bool) -> Expression:
    if isinstance(node, exp.Filter):  # … FILTER (WHERE …) IGNORE NULLS
        found = _call(node.this, inputs, functions, ignore_nulls)
        assert isinstance(found, Aggregation)
        return found.where(as_column(inputs.of(node.expression.this)))
    if isinstance(node, exp.Anonymous) and node.name.lower() in functions:
        columns = [inputs.of(argument) for argument in node.expressions]
        return sf.apply(functions[node.name.lower()], *columns)
    if isinstance(node, exp.WithinGroup):
        return _within_group(node, inputs)
    name, arguments = _named(node)
    if name in functions.elsewhere:
        raise NotTaken(f"{name} has another meaning in this dialect than in Spark")
    if isinstance(node, exp.ArrayAgg) and not node.args.get("nulls_excluded"):
        raise NotTaken("array_agg has nulls in this dialect, and none in Spark")
    distinct, order = False, None
    if arguments and isinstance(arguments[0], exp.Distinct):
        if len(arguments[0].expressions) != 1:
            raise NotTaken(f"{node.sql()}: distinct values of several columns")
        distinct, arguments = True, [arguments[0].expressions[0], *arguments[1:]]
    if arguments and isinstance(arguments[0], exp.Order):
        order, arguments = arguments[0].expressions, [arguments[0].this, *arguments[1:]]
    if ignore_nulls and name not in IGNORING:
        raise NotTaken(f"{name} takes no IGNORE NULLS")
    if name == "count" and not distinct:
        return _count(arguments, inputs)
    return _of_signature(name, arguments, inputs, _options(name, distinct, order, ignore_nulls))


def _named(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """The name that `sash.functions` has for a call, and its arguments in their order."""
    if isinstance(node, exp.Anonymous):
        name = SPELLED.get(node.name.lower(), node.name.lower())
        if name not in KNOWN:
            raise NotTaken(f"there is no aggregation {node.name}")
        return name, list(node.expressions)
    if type(node) not in NAMES:
        raise NotTaken(f"{node.sql()} is no aggregation of Sash")
    if isinstance(node, exp.NthValue) and node.args.get("from_first") is False:
        offset = value_of(node.args["offset"])
        return "nth_value", [node.this, exp.Literal.number(-offset)]
    given = [node.args.get(key) for key in node.arg_types if key not in FLAGS]
    found: list[exp.Expr] = []
    for one in given:
        found += one if isinstance(one, list) else [one] if isinstance(one, exp.Expr) else []
    return NAMES[type(node)], found


FLAGS = ("nulls_excluded", "big_int", "zero_on_all_null", "deterministic", "from_first", "weight",
         "on_overflow", "accuracy", "error_tolerance", "counters")  # fmt: skip
"""Arguments of sqlglot's classes that no function of Sash has."""


def _count(arguments: list[exp.Expr], inputs: Inputs) -> Expression:
    """count(*), count(1), count(x), and count(x, y): rows in which all of them are known."""
    known = [a for a in arguments if not isinstance(a, exp.Star | exp.Literal)]
    if not known:
        return sf.count()
    first, *others = (inputs.of(argument) for argument in known)
    found = sf.count(first)
    for other in others:
        found = found.where(as_column(other).is_not_null())
    return found


def _options(
    name: str, distinct: bool, order: list[exp.Expr] | None, ignore_nulls: bool
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if distinct and name not in ("min", "max", "collect_set"):  # which it changes nothing for
        found["distinct"] = True
    if ignore_nulls:
        found["ignore_nulls"] = True
    if order is not None:
        if len(order) > 1:
            raise NotTaken(f"{name}: ORDER BY several columns within the aggregation")
        found["order_by"], found["descending"] = order[0].this, bool(order[0].args.get("desc"))
    return found


def _of_signature(
    name: str, arguments: list[exp.Expr], inputs: Inputs, options: dict[str, Any]
) -> Expression:
    """A function called as `sash.functions` defines it: columns and constants by position."""
    if name == "collect_list" and options.pop("distinct", False):
        name = "collect_set"
    function: Any = getattr(sf, name)
    parameters = inspect.signature(function).parameters
    names = [p for p in parameters if parameters[p].kind is not inspect.Parameter.VAR_KEYWORD]
    unknown = [option for option in options if option not in names]
    if unknown:
        raise NotTaken(f"{name} takes no {unknown[0].upper().replace('_', ' ')}")
    least = sum(p.default is inspect.Parameter.empty for p in parameters.values())
    if not least <= len(arguments) <= len(names):
        raise NotTaken(f"{name} takes {', '.join(names) or 'no arguments'}, not {len(arguments)}")
    given: dict[str, Any] = {}
    for key, argument in zip(names, arguments):
        if key in COLUMNS:
            given[key] = inputs.of(argument)
        elif key == "default":
            given[key] = as_column(inputs.of(argument))
        else:
            given[key] = value_of(argument)
    if "order_by" in options:
        options["order_by"] = inputs.of(options["order_by"])
    return function(**given, **options)


def _within_group(node: exp.WithinGroup, inputs: Inputs) -> Expression:
    """percentile_cont(0.5) WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY x)."""
    [ordered, *more] = node.expression.expressions
    if more:
        raise NotTaken(f"{node.sql()}: WITHIN GROUP is by one column")
    column, descending = inputs.of(ordered.this), bool(ordered.args.get("desc"))
    if isinstance(node.this, exp.Mode) and not descending:
        return sf.mode(column)
    if not isinstance(node.this, exp.PercentileCont | exp.PercentileDisc):
        raise NotTaken(f"{node.this.sql()} takes no WITHIN GROUP")
    share = value_of(node.this.this)
    share = 1 - share if descending else share
    if isinstance(node.this, exp.PercentileCont):
        return sf.percentile(column, share)
    if descending:
        raise NotTaken(f"{node.sql()}: percentile_disc in descending order")
    return sf.percentile_approx(column, share)
