"""The aggregations and windows of a pipeline file, by name or as `module:monoid`."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

import sash
from sash import functions as sf
from sash import monoids as m
from sash.cli.checked import Table
from sash.cli.errors import known
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Column, Expression, walk
from sash.windows import Frame, as_frame
from sash.windows.duration import Duration

COLUMNS = ("column", "condition", "measure", "argument", "weight", "x", "y")
"""How functions call their columns; their other parameters are keys in the file."""

PLAIN: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (int, float), "str": (str,), "bool": (bool,), "str | None": (str,),
    "str | float": (str, int, float), "Sequence[float] | None": (list,),
    "Any": (int, float, str, bool),
}  # fmt: skip
FUNCTIONS = [name for name in sf.__all__ if name not in ("TIME", "apply", "function")]
KINDS = {"double": pa.float64(), "long": pa.int64(), "string": pa.string(), "boolean": pa.bool_(),
         "doubles": pa.list_(pa.float64()), "longs": pa.list_(pa.int64()),
         "strings": pa.list_(pa.string()), "timestamp": pa.timestamp("us", "UTC")}  # fmt: skip
FRAMES = ("rows", "rows_between", "range_between", "groups_between", "rows_between_columns",
          "range_between_columns", "session", "delta", "until", "calendar", "sliding",
          "lifetime")  # fmt: skip
SHAPE: dict[str, Any] = {
    "exclude": str, "delay": (str, int, float), "center": bool, "most": int, "peers": bool,
    "min_periods": int, "step": int,
}  # fmt: skip
"""The options of an aggregation's window besides `over`."""

SQL = re.compile(r"[()*/+<>=%'`]|\s-\s")
"""A column with one of these is an expression; others are names, whatever is in them."""


def frames(root: Table) -> dict[str, Frame]:
    """The windows that have a name, in `[windows]`."""
    table = root.table("windows", {})
    return {name: frame(table, name, {}) for name in table.data}


def aggregations(root: Table, named: Mapping[str, Frame], home: Path) -> dict[str, Expression]:
    """The aggregations, and expressions over them, by the name of their column."""
    table = root.table("aggregations")
    if not table.data:
        table.wrong(None, 'is empty; add n = { function = "count", over = "1 hour" }, say')
    return {out: _aggregation(one, named, home) for out, one in table.tables()}


def _aggregation(table: Table, named: Mapping[str, Frame], home: Path) -> Expression:
    if "result" in table.data:  # of the columns and the aggregations above it
        text = table.text("result")
        table.end()
        return _sql(table, "result", text)
    name = table.text("function")
    found: Any
    if name == "function":
        found = _any_function(table, home)
    elif ":" in name:
        found = _own(table, name, home)
    elif name in FUNCTIONS:
        found = _by_name(table, name, getattr(sf, name))
    else:
        table.wrong(
            "function",
            f"no function {name!r}; {known([*FUNCTIONS, 'function', 'module:monoid'], name)}",
        )
    if isinstance(found, Expression) and not isinstance(found, Aggregation):  # a rank, a lag
        table.end()
        return found
    where = table.text("where", None)
    if where is not None:
        found = found.where(_sql(table, "where", where))
    category = table.text("by", None)
    if category is not None:
        found = _by_category(table, found, category)
    over = frame(table, "over", named)
    given = {key: table.get(key, kind, None) for key, kind in SHAPE.items()}
    shape = {key: value for key, value in given.items() if value is not None}
    table.end()
    try:
        return found.over(over, **shape)
    except (TypeError, ValueError) as problem:
        named_in = [key for key in shape if str(problem).startswith(key)]
        table.wrong(named_in[0] if named_in else "over", str(problem))


def _by_category(table: Table, found: Aggregation, category: str) -> Aggregation:
    try:
        return found.by(_input(table, "by"))
    except (TypeError, ValueError) as problem:
        table.wrong("by", str(problem))


def _any_function(table: Table, home: Path) -> Aggregation:
    """A function of a window's values: `call = "module:function"`."""
    name, columns = table.text("call"), table.texts("of")
    returns = KINDS[table.choice("returns", KINDS, "double")]
    found = attribute(table, "call", name, home)
    try:
        return sf.function(found, *columns, returns=returns)
    except (TypeError, ValueError) as problem:
        table.wrong("call", f"{name}: {problem}")


def _sql(table: Table, key: str, text: str) -> Expression:
    try:
        return sf.expr(text)
    except (ValueError, ModuleNotFoundError) as problem:
        table.wrong(key, str(problem))


def _input(table: Table, key: str) -> Expression | str:
    """A column's name, or an expression where it is SQL."""
    text = table.text(key)
    return _sql(table, key, text) if SQL.search(text) else text


def read_by(e: Expression, others: Container[str]) -> list[tuple[str, str]]:
    """The input columns that an output reads, each with the key that names it.

    `others`: the names of other outputs, which are no columns of the input.
    """
    if not isinstance(e, Aggregation):
        parts = list(walk(e))
        found = [("result", p.name) for p in parts if isinstance(p, Column)]
        found = [pair for pair in found if pair[1] not in others]
        inner = [p for p in parts if isinstance(p, Aggregation)]
        return found + [pair for a in inner for pair in read_by(a, others)]
    condition = () if e.condition is None else (e.condition,)
    keys = {"of": e.columns, "where": condition, "over": e.frame.columns if e.frame else ()}
    columns = [(key, c) for key, names in keys.items() for name in names for c in e.inputs(name)]
    return [(key, column) for key, column in columns if column != sf.TIME]


def _by_name(table: Table, name: str, function: Callable[..., Any]) -> Any:
    parameters = inspect.signature(function).parameters
    wanted = [p for p in parameters.values() if p.name in COLUMNS]
    columns = table.texts("of", ())
    least = sum(p.default is inspect.Parameter.empty for p in wanted)
    if not least <= len(columns) <= len(wanted):
        what = ", ".join(p.name for p in wanted)
        key = "of" if "of" in table.data else None
        table.wrong(
            key, f"{name} takes {_many(least, len(wanted))} ({what}) as `of`, not {columns}"
        )
    more = {}
    for p in parameters.values():
        if p.name in COLUMNS:
            continue
        must = p.default is inspect.Parameter.empty
        kind = PLAIN[str(p.annotation)]
        value = table.get(p.name, kind) if must else table.get(p.name, kind, p.default)
        more[p.name] = value
    inputs = [_sql(table, "of", c) if SQL.search(c) and name != "count_if" else c for c in columns]
    try:
        return function(*inputs, **more)
    except (TypeError, ValueError) as problem:
        table.wrong(next(iter(more), "of"), str(problem))


def _many(least: int, most: int) -> str:
    number = str(most) if least == most else f"{least} or {most}"
    return f"{number} column{'s' * (most != 1)}"


def _own(table: Table, name: str, home: Path) -> Aggregation:
    """A monoid of the user's: `module:monoid`, or a function that makes one, with `options`."""
    columns = table.texts("of")
    options = table.get("options", dict, {})
    returns = table.choice("returns", ("as it is", *KINDS), "as it is")
    made = monoid(table, "function", name, home, options)
    try:
        return sf.apply(made, *columns, returns=KINDS.get(returns))
    except (TypeError, ValueError) as problem:
        table.wrong("function", f"{name}: {problem}")


def monoid(table: Table, key: str, name: str, home: Path, options: dict[str, Any]) -> m.Monoid:
    """A monoid by `module:name`, the name of one or of a function that makes one."""
    found = attribute(table, key, name, home)
    try:
        is_made = isinstance(found, m.Monoid) or hasattr(found, "merge") or not callable(found)
        return m.as_monoid(found if is_made else found(**options))
    except Exception as problem:  # the user's own code ran
        table.wrong(key, f"{name} gives no monoid: {problem}")


def attribute(table: Table, key: str, name: str, home: Path) -> Any:
    """What a module has under a name: `module:name`."""
    module_name, _, own = name.partition(":")
    if not own:
        table.wrong(key, f"takes a module and a name in it, as in 'my_module:{name}'")
    module = _module(table, module_name, home, key)
    if not hasattr(module, own):
        there = [k for k, v in vars(module).items() if isinstance(v, m.Monoid)]
        table.wrong(key, f"{module_name} has no {own!r}; {known(there, own)}")
    return getattr(module, own)


def _module(table: Table, name: str, home: Path, key: str) -> Any:
    """A module beside the pipeline file, or one that is installed."""
    if str(home) not in sys.path:
        sys.path.insert(0, str(home))
    file = home.joinpath(*name.split(".")).with_suffix(".py")
    try:
        return _beside(name, file) if file.exists() else importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name == name.partition(".")[0]:
            table.wrong(key, f"no module {name!r} in {home} or among the installed ones")
        table.wrong(key, f"module {name}: {problem}")
    except Exception as problem:  # the user's own code ran
        table.wrong(key, f"module {name} cannot be imported: {problem!r}")


def _beside(name: str, file: Path) -> Any:
    """A module by its file; not in sys.modules, so that it goes to Spark's workers by value."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def frame(table: Table, key: str, named: Mapping[str, Frame]) -> Frame:
    """A window: a duration, the name of one, or a table such as { rows = 50 }."""
    given = table.get(key, (str, dict))
    try:
        if isinstance(given, str):
            found = named[given] if given in named else as_frame(given)
        else:
            found = _frame(table.table(key))
        for part in vars(found).values():
            check_length(part)
        return found
    except (TypeError, ValueError) as problem:
        names = f"; {known(named, given)}" if named and isinstance(given, str) else ""
        table.wrong(key, f"{problem}{names}")


def check_length(span: object) -> None:
    """Raise ValueError for a duration longer than time stamps in nanoseconds can be apart."""
    if isinstance(span, Duration) and abs(span.ns) >> 63:
        raise ValueError("is longer than 106751 days (292 years), the longest that is taken")


def _frame(table: Table) -> Frame:
    kinds = [name for name in table.data if name in FRAMES]
    closed = table.get("closed", str, None)
    if "last" in table.data:
        found: Frame = as_frame(table.text("last"))
    elif len(kinds) != 1:
        table.wrong(None, f"takes one of {', '.join(('last', *FRAMES))}, not {dict(table.data)}")
    else:
        found = _of_kind(table, kinds[0])
    table.end()
    return found if closed is None else as_frame(found, closed=closed)


def _of_kind(table: Table, kind: str) -> Frame:
    if kind == "rows":
        return sash.rows(table.get(kind, int))
    if "between" in kind:
        ends = table.get(kind, list)
        if len(ends) != 2:
            table.wrong(kind, f"takes a start and an end, not {ends}")
        if kind.endswith("_columns"):
            return getattr(sash, kind.removesuffix("_columns"))(*map(sf.col, table.texts(kind)))
        bounds = [None if e == "unbounded" else e for e in ends]
        return getattr(sash, kind)(*bounds, empty=table.get("empty", bool, False))
    if kind == "session":
        return sash.session(table.text(kind))
    if kind == "delta":
        return sash.delta(_input(table, kind), table.get("by", (int, float, str)))
    if kind == "until":
        return sash.until(_input(table, kind))
    if kind == "calendar":
        return sash.calendar(table.text(kind), tz=table.text("tz", None))
    if kind == "sliding":
        size, slide = (table.get(key, (str, int, float)) for key in (kind, "slide"))
        return sash.sliding(size, slide, table.get("offset", (str, int, float), 0))
    if table.get(kind, bool) is not True:
        table.wrong(kind, "is all rows so far: lifetime = true")
    return sash.lifetime()
