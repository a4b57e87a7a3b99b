"""OVER clauses: named windows resolved, frames as Sash has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sash.sql.dialects import text
from sash.sql.errors import NotTaken, SqlError
from sash.sql.literals import value_of
from sash.windows import Frame, groups_between, range_between, rows_between
from sash.windows.duration import UNITS, Duration
from sash.windows.shapes import shaped

WHOLE = rows_between(None, None)


@dataclass(frozen=True)
class Over:
    """An OVER clause without names: keys, order, and the frame as it is written."""

    keys: tuple[exp.Expr, ...]
    order: tuple[exp.Ordered, ...]
    spec: exp.WindowSpec | None

    @property
    def rows(self) -> tuple[str, str]:
        """Which rows are whose, in which order: windows that agree in it run in one pass."""
        keys = ", ".join(text(key) for key in self.keys)
        return keys, ", ".join(text(one) for one in self.order)

    @property
    def is_apart(self) -> bool:
        """Whether it is a RANGE that may not have the row's own peers."""
        if not self.has_offset:
            return False
        assert self.spec is not None
        ends = [(self.spec.args.get(e), self.spec.args.get(f"{e}_side")) for e in ("start", "end")]
        wrong = ("FOLLOWING", "PRECEDING")
        return any(
            isinstance(value, exp.Expr) and (side or "").upper() == other
            for (value, side), other in zip(ends, wrong)
        )

    @property
    def has_offset(self) -> bool:
        """Whether it is a RANGE whose bounds are distances from the row's own value."""
        if self.spec is None or self.spec.args["kind"].upper() != "RANGE":
            return False
        return any(isinstance(self.spec.args.get(end), exp.Expr) for end in ("start", "end"))


def resolved(window: exp.Window, named: Mapping[str, exp.Window]) -> Over:
    """An OVER clause with the named windows that it extends put in."""
    keys = tuple(window.args.get("partition_by") or ())
    order = window.args.get("order")
    spec = window.args.get("spec")
    ordered = tuple(order.expressions) if order is not None else ()
    base_name = window.args.get("alias")
    if base_name is None:
        return Over(keys, ordered, spec)
    name = base_name.name.lower()
    if name not in named:
        known = ", ".join(named) or "none"
        raise SqlError(f"OVER {base_name.name}: no window of that name; WINDOW has {known}")
    base = resolved(named[name], {k: w for k, w in named.items() if k != name})
    if keys:
        raise SqlError(f"OVER ({base_name.name} …): a window that extends another has its keys")
    if ordered and base.order:
        raise SqlError(f"OVER ({base_name.name} …): {base_name.name} has an order already")
    return Over(base.keys, ordered or base.order, spec or base.spec)


def frame_of(over: Over, unit: str, scale: int = 1) -> Frame:
    """The frame of an OVER clause. `unit`: what the order is, "time", "date", "number" or "peers".

    "peers": only which rows are equal is known, not how far they are apart. `scale`: how many
    steps of the order's numbers a distance of 1 is.
    """
    spec = over.spec
    if spec is None:
        if not over.order:
            return WHOLE
        return groups_between(None, 0) if unit == "peers" else range_between(None, 0)
    kind = spec.args["kind"].upper()
    start = _bound(spec.args["start"], spec.args.get("start_side"), unit, kind)
    end = _bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), unit, kind)
    if kind == "RANGE" and scale != 1:
        start, end = _scaled(start, scale), _scaled(end, scale)
    made: Any
    if kind == "ROWS":
        made = rows_between(start, end, empty=True)
    elif kind == "GROUPS" or unit == "peers":
        made = groups_between(start, end, empty=True)
    else:
        made = range_between(start, end, empty=True)
    return _excluding(spec, made)


def _scaled(bound: Any, scale: int) -> Any:
    if not bound or isinstance(bound, Duration):
        return bound
    steps = Fraction(str(bound)) * scale
    if steps.denominator != 1:
        raise NotTaken(f"RANGE {abs(bound)}: it has more places than the decimals of the order")
    return int(steps)


def peers_of(over: Over) -> Frame:
    """The frame of a row whose order is null or NaN, from which nothing is any distance away.

    Distances lead to its peers, as in Spark, DuckDB and PostgreSQL.
    """
    assert over.spec is not None
    start, end = over.spec.args["start"], over.spec.args.get("end")
    made = groups_between(None if start == "UNBOUNDED" else 0, None if end == "UNBOUNDED" else 0)
    return _excluding(over.spec, made)


def _excluding(spec: exp.WindowSpec, frame: Frame) -> Frame:
    exclude = spec.args.get("exclude")
    words = None if exclude is None else exclude.name.lower()
    return frame if words in (None, "no others") else shaped(frame, exclude=words)


def _bound(value: Any, side: str | None, unit: str, kind: str) -> Any:
    """Where a frame begins or ends: None unbounded, 0 the current row, else a distance."""
    if value == "UNBOUNDED":
        return None
    if value == "CURRENT ROW":
        return 0
    away = value_of(value)
    if isinstance(away, str):
        away = Duration.of(away, "RANGE")
    if kind != "RANGE" and not isinstance(away, int):
        raise SqlError(f"{kind} {value.sql()} {side}: a whole number of rows is needed")
    if kind == "RANGE" and unit == "peers":
        raise NotTaken(f"RANGE {value.sql()} {side}: the order is not one number or time")
    if kind == "RANGE" and unit == "date" and isinstance(away, int):
        away = Duration(away * UNITS["d"])
    if (away.ns if isinstance(away, Duration) else away) < 0:
        raise SqlError(f"{kind} {value.sql()} {side}: a frame's bound must not be negative")
    return -away if (side or "").upper() == "PRECEDING" else away
