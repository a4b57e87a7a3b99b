"""Functions of expressions by the names of SQL: how Arrow computes each, as Spark means it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sash.plan.types import unit_of


class Typed(NamedTuple):
    """An expression of Arrow's and the type that it has."""

    arrow: pc.Expression
    kind: pa.DataType


def _null(kind: pa.DataType) -> pc.Expression:
    return pc.scalar(pa.scalar(None, kind))


def _is_float(*values: Typed) -> bool:
    return any(pa.types.is_floating(v.kind) for v in values)


def _double(value: Typed) -> pc.Expression:
    return value.arrow if value.kind == pa.float64() else value.arrow.cast(pa.float64())


NUMBERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64())
"""Of two of these, Spark computes with the later one. Arrow would narrow literals."""


def _alike(a: Typed, b: Typed) -> tuple[Typed, Typed]:
    """Two values as types that are compared and added as Spark does."""
    if a.kind == b.kind:
        return a, b
    if a.kind in NUMBERS and b.kind in NUMBERS:
        wide = max(a.kind, b.kind, key=NUMBERS.index)
        return _as(a, wide), _as(b, wide)
    if pa.types.is_decimal(a.kind) or pa.types.is_decimal(b.kind):
        return (_as(a, pa.float64()), _as(b, pa.float64())) if _is_float(a, b) else (a, b)
    if _yields(b, a):
        return a, _as(b, a.kind)
    return (_as(a, b.kind), b) if _yields(a, b) else (a, b)


def _yields(a: Typed, b: Typed) -> bool:
    """Whether a value is taken for one of the other's type: a null, or a string beside a time."""
    moments = pa.types.is_timestamp(a.kind) and pa.types.is_timestamp(b.kind)
    written = pa.types.is_string(a.kind) and pa.types.is_temporal(b.kind)
    day = pa.types.is_date(a.kind) and pa.types.is_timestamp(b.kind)
    return written or day or pa.types.is_null(a.kind) or (moments and a.kind.tz is None)


def _as(value: Typed, kind: pa.DataType) -> Typed:
    if pa.types.is_null(value.kind):
        return Typed(_null(kind), kind)
    return value if value.kind == kind else Typed(value.arrow.cast(kind), kind)


def _binary(function: Any) -> Callable[[Typed, Typed], pc.Expression]:
    def build(a: Typed, b: Typed) -> pc.Expression:
        a, b = _alike(a, b)
        return function(a.arrow, b.arrow)

    return build


def _equal(a: Typed, b: Typed) -> pc.Expression:
    a, b = _alike(a, b)
    same = pc.equal(a.arrow, b.arrow)
    if not (_is_float(a) and _is_float(b)):
        return same
    return pc.or_kleene(same, pc.and_kleene(pc.is_nan(a.arrow), pc.is_nan(b.arrow)))


def _less(a: Typed, b: Typed) -> pc.Expression:
    a, b = _alike(a, b)
    less = pc.less(a.arrow, b.arrow)
    if not _is_float(b):
        return less
    number = pc.invert(pc.is_nan(a.arrow)) if _is_float(a) else pc.is_valid(a.arrow)
    return pc.or_kleene(less, pc.and_kleene(pc.is_nan(b.arrow), number))


def _not(build: Any, swap: bool = False) -> Callable[[Typed, Typed], pc.Expression]:
    return lambda a, b: pc.invert(build(b, a) if swap else build(a, b))


def _null_safe(a: Typed, b: Typed) -> pc.Expression:
    a, b = _alike(a, b)
    both = pc.and_kleene(pc.is_null(a.arrow), pc.is_null(b.arrow))
    return pc.or_kleene(pc.coalesce(_equal(a, b), pc.scalar(False)), both)


def _unless_zero(function: Any, double: bool) -> Callable[[Typed, Typed], pc.Expression]:
    """A division: null where it is by zero."""

    def build(a: Typed, b: Typed) -> pc.Expression:
        a, b = _alike(a, b)
        exact = pa.types.is_decimal(a.kind) or pa.types.is_decimal(b.kind)
        as_double = double and (not exact or _is_float(a, b))
        x, y = (_double(a), _double(b)) if as_double else (a.arrow, b.arrow)
        kind = pa.float64() if as_double else b.kind
        zero = pc.equal(y, pc.scalar(pa.scalar(0, pa.int32())))
        return function(x, pc.if_else(zero, _null(kind), y))

    return build


def _remainder(a: Typed, b: Typed) -> pc.Expression:
    """What a division that rounds towards zero leaves; Arrow has had it since pyarrow 26."""
    found = getattr(pc, "remainder", None)
    if found is None:
        for value in (a, b):
            if not pa.types.is_integer(value.kind):
                raise TypeError(
                    f"% of {value.kind} needs pyarrow 26 or newer, and this is {pa.__version__}: "
                    "use whole numbers, or upgrade pyarrow"
                )
        found = _whole_remainder
    return _unless_zero(found, double=False)(a, b)


def _whole_remainder(x: pc.Expression, y: pc.Expression) -> pc.Expression:
    left = pc.subtract(x, pc.multiply(pc.divide(x, y), y))
    minus_one = pc.equal(y, pc.scalar(pa.scalar(-1, pa.int32())))  # the smallest number overflows
    return pc.if_else(minus_one, pc.subtract(x, x), left)


def _whole_division(a: Typed, b: Typed) -> pc.Expression:
    whole = [Typed(v.arrow.cast(pa.int64()), pa.int64()) for v in (a, b)]
    return _unless_zero(pc.divide_checked, double=False)(*whole)


def _together(values: list[Typed]) -> list[Typed]:
    """Values of which one is chosen for a row, all of one type."""
    first = next((v for v in values if not pa.types.is_null(v.kind)), values[0])
    for value in values:
        first, _ = _alike(first, value)
    return [_alike(first, value)[1] for value in values]


def _case(*values: Typed) -> pc.Expression:
    conditions = values[0 : len(values) - len(values) % 2 : 2]
    last = list(values[-1:]) if len(values) % 2 else [Typed(_null(pa.null()), pa.null())]
    *results, found = _together([*values[1::2], *last])
    chosen = found.arrow
    for condition, value in zip(reversed(conditions), reversed(results), strict=True):
        holds = pc.coalesce(_boolean(condition), pc.scalar(False))
        chosen = pc.if_else(holds, value.arrow, chosen)
    return chosen


def _boolean(value: Typed) -> pc.Expression:
    return _null(pa.bool_()) if pa.types.is_null(value.kind) else value.arrow


def _in(value: Typed, *others: Typed) -> pc.Expression:
    found = pc.scalar(False)
    for other in others:
        found = pc.or_kleene(found, _equal(value, other))
    return found


def _of_double(function: Any) -> Callable[[Typed], pc.Expression]:
    return lambda value: function(_double(value))


def _logarithm(value: Typed) -> pc.Expression:
    x = _double(value)
    return pc.if_else(pc.less_equal(x, 0.0), _null(pa.float64()), pc.ln(x))


def _whole(function: Any) -> Callable[[Typed], pc.Expression]:
    """floor and ceil give whole numbers; null of what is not finite."""

    def build(value: Typed) -> pc.Expression:
        if pa.types.is_integer(value.kind):
            return value.arrow.cast(pa.int64())
        if pa.types.is_decimal(value.kind):
            return function(value.arrow)
        x = _double(value)
        return function(pc.if_else(pc.is_finite(x), x, _null(pa.float64()))).cast(pa.int64())

    return build


def _round(value: Typed, places: int) -> pc.Expression:
    return pc.round(value.arrow, ndigits=places, round_mode="half_towards_infinity")


def _most(function: Any, largest: bool) -> Callable[..., pc.Expression]:
    """greatest and least skip nulls; NaN is larger than any number."""

    def build(*given: Typed) -> pc.Expression:
        values = _together(list(given))
        found = function(*(v.arrow for v in values))
        if not _is_float(*values):
            return found
        nan = [pc.coalesce(pc.is_nan(v.arrow), pc.scalar(False)) for v in values if _is_float(v)]
        if largest:
            any_nan = nan[0]
            for more in nan[1:]:
                any_nan = pc.or_kleene(any_nan, more)
            return pc.if_else(any_nan, pc.scalar(float("nan")), found)
        return found  # Arrow's own takes the number beside a NaN

    return build


KINDS = {
    "boolean": pa.bool_(), "bool": pa.bool_(), "tinyint": pa.int8(), "byte": pa.int8(),
    "smallint": pa.int16(), "short": pa.int16(), "int": pa.int32(), "integer": pa.int32(),
    "bigint": pa.int64(), "long": pa.int64(), "float": pa.float32(), "real": pa.float32(),
    "double": pa.float64(), "string": pa.string(), "date": pa.date32(), "binary": pa.binary(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip
"""Spark's names of types."""


def kind_of(name: str) -> pa.DataType:
    """The Arrow type of a name of Spark's.

    >>> kind_of("decimal(10, 2)")
    Decimal128Type(decimal128(10, 2))
    """
    found = re.fullmatch(r"(?:decimal|numeric)\s*\(\s*(\d+)\s*(?:,\s*(\d+))?\s*\)", name.lower())
    if found:
        return pa.decimal128(int(found[1]), int(found[2] or 0))
    if name.lower() not in KINDS:
        raise ValueError(f"cast: no type {name!r}; there are {', '.join(KINDS)}, decimal(p, s)")
    return KINDS[name.lower()]


def _cast(value: Typed, name: str) -> Typed:
    kind = kind_of(name)
    x = value.arrow
    moment = pa.types.is_timestamp(value.kind) or pa.types.is_duration(value.kind)
    if moment and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):  # seconds
        unit = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[value.kind.unit]
        seconds = pc.divide(x.cast(pa.int64()).cast(pa.float64()), pc.scalar(float(unit)))
        whole = pc.floor(seconds).cast(pa.int64())
        return Typed((whole if pa.types.is_integer(kind) else seconds).cast(kind), kind)
    if pa.types.is_floating(value.kind) and pa.types.is_integer(kind):
        x = pc.trunc(x)
    return Typed(x.cast(kind), kind)


def _time_number(value: Typed) -> pc.Expression:
    """A time in nanoseconds since 1970, where it is a time; a number as it is."""
    unit = unit_of(value.kind)
    if unit is None:
        return value.arrow
    kind = pa.int32() if value.kind.bit_width == 32 else pa.int64()
    steps = value.arrow.cast(kind).cast(pa.int64())
    return pc.multiply_checked(steps, pc.scalar(pa.scalar(unit, pa.int64())))


def _part(function: Any) -> Callable[[Typed], pc.Expression]:
    """A part of a time, as Spark types it."""
    return lambda value: function(value.arrow).cast(pa.int32())


def _day_of_week(value: Typed) -> pc.Expression:
    day = pc.day_of_week(value.arrow, count_from_zero=False, week_start=7)
    return day.cast(pa.int32())


ANY = 1 << 30
Build = Callable[..., Any]

FUNCTIONS: dict[str, tuple[int, int, Build]] = {
    "+": (2, 2, _binary(pc.add_checked)),
    "-": (2, 2, _binary(pc.subtract_checked)),
    "*": (2, 2, _binary(pc.multiply_checked)),
    "/": (2, 2, _unless_zero(pc.divide, double=True)),
    "%": (2, 2, _remainder),
    "div": (2, 2, _whole_division),
    "pow": (2, 2, lambda a, b: pc.power(_double(a), _double(b))),
    "negative": (1, 1, lambda a: pc.negate_checked(a.arrow)),
    "=": (2, 2, _equal),
    "<>": (2, 2, _not(_equal)),
    "<": (2, 2, _less),
    ">": (2, 2, lambda a, b: _less(b, a)),
    "<=": (2, 2, _not(_less, swap=True)),
    ">=": (2, 2, _not(_less)),
    "<=>": (2, 2, _null_safe),
    "and": (2, 2, lambda a, b: pc.and_kleene(_boolean(a), _boolean(b))),
    "or": (2, 2, lambda a, b: pc.or_kleene(_boolean(a), _boolean(b))),
    "not": (1, 1, lambda a: pc.invert(_boolean(a))),
    "in": (1, ANY, _in),
    "isnull": (1, 1, lambda a: pc.is_null(a.arrow)),
    "isnotnull": (1, 1, lambda a: pc.is_valid(a.arrow)),
    "isnan": (1, 1, lambda a: pc.coalesce(pc.is_nan(a.arrow), pc.scalar(False))),
    "case": (2, ANY, _case),
    "coalesce": (1, ANY, lambda *a: pc.coalesce(*(v.arrow for v in _together(list(a))))),
    "greatest": (2, ANY, _most(pc.max_element_wise, largest=True)),
    "least": (2, ANY, _most(pc.min_element_wise, largest=False)),
    "abs": (1, 1, lambda a: pc.abs_checked(a.arrow)),
    "sign": (1, 1, _of_double(pc.sign)),
    "sqrt": (1, 1, _of_double(pc.sqrt)),
    "exp": (1, 1, _of_double(pc.exp)),
    "ln": (1, 1, _logarithm),
    "floor": (1, 1, _whole(pc.floor)),
    "ceil": (1, 1, _whole(pc.ceil)),
    "round": (2, 2, _round),
    "cast": (2, 2, _cast),
    "lower": (1, 1, lambda a: pc.utf8_lower(a.arrow)),
    "upper": (1, 1, lambda a: pc.utf8_upper(a.arrow)),
    "length": (1, 1, lambda a: pc.utf8_length(a.arrow).cast(pa.int32())),
    "concat": (1, ANY, lambda *a: pc.binary_join_element_wise(*(v.arrow for v in a), "")),
    "like": (2, 2, lambda a, pattern: pc.match_like(a.arrow, pattern)),
    "year": (1, 1, _part(pc.year)),
    "month": (1, 1, _part(pc.month)),
    "day": (1, 1, _part(pc.day)),
    "hour": (1, 1, _part(pc.hour)),
    "minute": (1, 1, _part(pc.minute)),
    "second": (1, 1, _part(pc.second)),
    "dayofweek": (1, 1, _day_of_week),
    "time_number": (1, 1, _time_number),
}
"""Each function: at least and at most so many arguments, and how Arrow computes it."""
