"""Functions of expressions by the names of SQL: how Arrow computes each, as Spark means it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.plan import texts
from sash.plan.types import unit_of

Value = Any
"""A column's values or one value for all rows: an array or a scalar of Arrow's."""


def _null(kind: pa.DataType) -> Value:
    return pa.scalar(None, kind)


def _is_float(*values: Value) -> bool:
    return any(pa.types.is_floating(v.type) for v in values)


def _is_one_number(value: Value) -> bool:
    """Whether a value is the same for all rows and neither null nor NaN."""
    return isinstance(value, pa.Scalar) and value.is_valid and value.as_py() == value.as_py()


def is_text(kind: pa.DataType) -> bool:
    """Whether values of a type are texts, as Arrow mostly keeps them."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _double(value: Value) -> Value:
    return value if value.type == pa.float64() else value.cast(pa.float64())


NUMBERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64())
"""Of two of these, Spark computes with the later one. Arrow would narrow literals."""


def _alike(a: Value, b: Value) -> tuple[Value, Value]:
    """Two values as types that are compared and added as Spark does."""
    if a.type == b.type:
        return a, b
    if a.type in NUMBERS and b.type in NUMBERS:
        wide = max(a.type, b.type, key=NUMBERS.index)
        return _as(a, wide), _as(b, wide)
    if pa.types.is_decimal(a.type) or pa.types.is_decimal(b.type):
        return (_as(a, pa.float64()), _as(b, pa.float64())) if _is_float(a, b) else (a, b)
    if _yields(b, a):
        return a, _as(b, a.type)
    return (_as(a, b.type), b) if _yields(a, b) else (a, b)


def _yields(a: Value, b: Value) -> bool:
    """Whether a value is taken for one of the other's type: a null, or a string beside a time."""
    moments = pa.types.is_timestamp(a.type) and pa.types.is_timestamp(b.type)
    written = pa.types.is_string(a.type) and pa.types.is_temporal(b.type)
    day = pa.types.is_date(a.type) and pa.types.is_timestamp(b.type)
    return written or day or pa.types.is_null(a.type) or (moments and a.type.tz is None)


def _as(value: Value, kind: pa.DataType) -> Value:
    if pa.types.is_null(value.type):
        return _null(kind)
    return value if value.type == kind else value.cast(kind)


def _binary(function: Any, checked: Any) -> Callable[[Value, Value], Value]:
    """Arithmetic of two values; of floats without a check, as they do not overflow."""

    def build(a: Value, b: Value) -> Value:
        a, b = _alike(a, b)
        floats = pa.types.is_floating(a.type) and pa.types.is_floating(b.type)
        return (function if floats else checked)(a, b)

    return build


def _equal(a: Value, b: Value) -> Value:
    a, b = _alike(a, b)
    if isinstance(a, pa.Scalar):
        a, b = b, a
    if is_text(a.type) and is_text(b.type) and isinstance(b, pa.Scalar) and b.is_valid:
        return texts.are(a, b.as_py())
    same = pc.equal(a, b)
    if not (_is_float(a) and _is_float(b)) or _is_one_number(a) or _is_one_number(b):
        return same
    return pc.or_kleene(same, pc.and_kleene(pc.is_nan(a), pc.is_nan(b)))


def _less(a: Value, b: Value) -> Value:
    a, b = _alike(a, b)
    if _is_one_number(a) and _is_float(b):
        return pc.invert(pc.less_equal(b, a))  # which NaN is not
    if not _is_float(b) or _is_one_number(b):
        return pc.less(a, b)
    less = pc.invert(pc.less_equal(b, a))  # as where one is NaN, so that NaN is less, too
    return pc.and_(less, pc.equal(a, a)) if _is_float(a) else less


def _not(build: Any, swap: bool = False) -> Callable[[Value, Value], Value]:
    return lambda a, b: pc.invert(build(b, a) if swap else build(a, b))


def _null_safe(a: Value, b: Value) -> Value:
    a, b = _alike(a, b)
    both = pc.and_kleene(pc.is_null(a), pc.is_null(b))
    return pc.or_kleene(pc.coalesce(_equal(a, b), pa.scalar(False)), both)


def _unless_zero(function: Any, double: bool) -> Callable[[Value, Value], Value]:
    """A division: null where it is by zero."""

    def build(a: Value, b: Value) -> Value:
        a, b = _alike(a, b)
        exact = pa.types.is_decimal(a.type) or pa.types.is_decimal(b.type)
        as_double = double and (not exact or _is_float(a, b))
        x, y = (_double(a), _double(b)) if as_double else (a, b)
        kind = pa.float64() if as_double else b.type
        zero = pc.equal(y, pa.scalar(0, pa.int32()))
        return function(x, pc.if_else(zero, _null(kind), y))

    return build


def _remainder(a: Value, b: Value) -> Value:
    """The remainder of a division that rounds towards zero; Arrow has had it since pyarrow 26."""
    found = getattr(pc, "remainder", None)
    if found is None:
        for value in (a, b):
            if not pa.types.is_integer(value.type):
                raise TypeError(
                    f"% of {value.type} needs pyarrow 26 or newer, and this is {pa.__version__}: "
                    "use whole numbers, or upgrade pyarrow"
                )
        found = _whole_remainder
    return _unless_zero(found, double=False)(a, b)


def _whole_remainder(x: Value, y: Value) -> Value:
    left = pc.subtract(x, pc.multiply(pc.divide(x, y), y))
    minus_one = pc.equal(y, pa.scalar(-1, pa.int32()))  # the smallest number overflows
    return pc.if_else(minus_one, pc.subtract(x, x), left)


def _whole_division(a: Value, b: Value) -> Value:
    whole = [v.cast(pa.int64()) for v in (a, b)]
    return _unless_zero(pc.divide_checked, double=False)(*whole)


def _together(values: list[Value]) -> list[Value]:
    """Values of which one is chosen for a row, all of one type."""
    first = next((v for v in values if not pa.types.is_null(v.type)), values[0])
    for value in values:
        first, _ = _alike(first, value)
    return [_alike(first, value)[1] for value in values]


def _case(*values: Value) -> Value:
    conditions = values[0 : len(values) - len(values) % 2 : 2]
    last = list(values[-1:]) if len(values) % 2 else [_null(pa.null())]
    *results, found = _together([*values[1::2], *last])
    chosen = found
    for condition, value in zip(reversed(conditions), reversed(results), strict=True):
        holds = pc.coalesce(_boolean(condition), pa.scalar(False))
        chosen = pc.if_else(holds, value, chosen)
    return chosen


def _boolean(value: Value) -> Value:
    return _null(pa.bool_()) if pa.types.is_null(value.type) else value


def _in(value: Value, *others: Value) -> Value:
    found = pa.scalar(False)
    for other in others:
        found = pc.or_kleene(found, _equal(value, other))
    return found


def _of_double(function: Any) -> Callable[[Value], Value]:
    return lambda value: function(_double(value))


def _logarithm(value: Value) -> Value:
    x = _double(value)
    return pc.if_else(pc.less_equal(x, 0.0), _null(pa.float64()), pc.ln(x))


def _whole(function: Any) -> Callable[[Value], Value]:
    """floor and ceil give whole numbers; null of what is not finite."""

    def build(value: Value) -> Value:
        if pa.types.is_integer(value.type):
            return value.cast(pa.int64())
        if pa.types.is_decimal(value.type):
            return function(value)
        x = _double(value)
        return function(pc.if_else(pc.is_finite(x), x, _null(pa.float64()))).cast(pa.int64())

    return build


def _round(value: Value, places: int) -> Value:
    return pc.round(value, ndigits=places, round_mode="half_towards_infinity")


def _most(function: Any, largest: bool) -> Callable[..., Value]:
    """greatest and least skip nulls; NaN is larger than any number."""

    def build(*given: Value) -> Value:
        values = _together(list(given))
        found = function(*(v for v in values))
        if not _is_float(*values):
            return found
        nan = [pc.coalesce(pc.is_nan(v), pa.scalar(False)) for v in values if _is_float(v)]
        if largest:
            any_nan = nan[0]
            for more in nan[1:]:
                any_nan = pc.or_kleene(any_nan, more)
            return pc.if_else(any_nan, pa.scalar(float("nan")), found)
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


def _cast(value: Value, name: str) -> Value:
    kind = kind_of(name)
    x = value
    moment = pa.types.is_timestamp(value.type) or pa.types.is_duration(value.type)
    if moment and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):  # seconds
        unit = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[value.type.unit]
        steps = x.cast(pa.int64()).cast(pa.float64(), safe=False)  # rounded, as Spark does
        seconds = pc.divide(steps, pa.scalar(float(unit)))
        whole = pc.floor(seconds).cast(pa.int64())
        return (whole if pa.types.is_integer(kind) else seconds).cast(kind)
    if pa.types.is_floating(value.type) and pa.types.is_integer(kind):
        x = pc.trunc(x)
    return x.cast(kind)


def _time_number(value: Value) -> Value:
    """A time in nanoseconds since 1970, a duration in nanoseconds; a number as it is."""
    unit = unit_of(value.type)
    if unit is None:
        return value
    kind = pa.int32() if value.type.bit_width == 32 else pa.int64()
    steps = value.cast(kind).cast(pa.int64())
    try:
        return pc.multiply_checked(steps, pa.scalar(unit, pa.int64()))
    except pa.ArrowInvalid:
        raise OverflowError(
            f"a {value.type} does not fit in 64 bits as nanoseconds since 1970, which go from 1677 "
            'to 2262: give seconds, sf.col("…").cast("double")'
        ) from None


def _part(function: Any) -> Callable[[Value], Value]:
    """A part of a time, as Spark types it."""
    return lambda value: function(value).cast(pa.int32())


def _day_of_week(value: Value) -> Value:
    day = pc.day_of_week(value, count_from_zero=False, week_start=7)
    return day.cast(pa.int32())


OF_EACH_VALUE = frozenset(["=", "<>", "<", ">", "<=", ">=", "like", "lower", "upper", "length"])
"""Functions of one text, beside literals, that give null for null and never raise: those of a
dictionary are computed once per entry, also of entries that no row has."""

ANY = 1 << 30
Build = Callable[..., Any]

FUNCTIONS: dict[str, tuple[int, int, Build]] = {
    "+": (2, 2, _binary(pc.add, pc.add_checked)),
    "-": (2, 2, _binary(pc.subtract, pc.subtract_checked)),
    "*": (2, 2, _binary(pc.multiply, pc.multiply_checked)),
    "/": (2, 2, _unless_zero(pc.divide, double=True)),
    "%": (2, 2, _remainder),
    "div": (2, 2, _whole_division),
    "pow": (2, 2, lambda a, b: pc.power(_double(a), _double(b))),
    "negative": (1, 1, lambda a: pc.negate_checked(a)),
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
    "isnull": (1, 1, lambda a: pc.is_null(a)),
    "isnotnull": (1, 1, lambda a: pc.is_valid(a)),
    "isnan": (1, 1, lambda a: pc.coalesce(pc.is_nan(a), pa.scalar(False))),
    "case": (2, ANY, _case),
    "coalesce": (1, ANY, lambda *a: pc.coalesce(*(v for v in _together(list(a))))),
    "greatest": (2, ANY, _most(pc.max_element_wise, largest=True)),
    "least": (2, ANY, _most(pc.min_element_wise, largest=False)),
    "abs": (1, 1, lambda a: pc.abs_checked(a)),
    "sign": (1, 1, _of_double(pc.sign)),
    "sqrt": (1, 1, _of_double(pc.sqrt)),
    "exp": (1, 1, _of_double(pc.exp)),
    "ln": (1, 1, _logarithm),
    "floor": (1, 1, _whole(pc.floor)),
    "ceil": (1, 1, _whole(pc.ceil)),
    "round": (2, 2, _round),
    "cast": (2, 2, _cast),
    "lower": (1, 1, lambda a: pc.utf8_lower(a)),
    "upper": (1, 1, lambda a: pc.utf8_upper(a)),
    "length": (1, 1, lambda a: pc.utf8_length(a).cast(pa.int32())),
    "concat": (1, ANY, lambda *a: pc.binary_join_element_wise(*(v for v in a), "")),
    "like": (2, 2, lambda a, pattern: pc.match_like(a, pattern)),
    "year": (1, 1, _part(pc.year)),
    "month": (1, 1, _part(pc.month)),
    "day": (1, 1, _part(pc.day)),
    "hour": (1, 1, _part(pc.hour)),
    "minute": (1, 1, _part(pc.minute)),
    "second": (1, 1, _part(pc.second)),
    "dayofweek": (1, 1, _day_of_week),
    "time_number": (1, 1, _time_number),
}
"""Each function: its least and its largest number of arguments, and how Arrow computes it."""
