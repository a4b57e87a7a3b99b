"""Values as suites write them, compared as numbers where they are numbers."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from decimal import Decimal
from typing import Any

from sash.testing.sqlsuite.records import Record


def written(value: Any) -> str:
    """A value as text, as DuckDB and Spark write it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value)
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).isoformat(" ")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, list | tuple):
        return f"[{', '.join(written(one) for one in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k}: {written(v)}' for k, v in value.items())}}}"
    return "(empty)" if value == "" else str(value)


def alike(ours: str, theirs: str) -> bool:
    """Whether two values as text are the same; numbers to a rounding error."""
    if ours == theirs or {ours, theirs} <= {"", "(empty)"}:
        return True
    if ours.lower() == theirs.lower() and ours.lower() in ("true", "false", "nan", "null"):
        return True
    if ours.lower() in ("true", "false") and theirs in ("0", "1"):
        return (ours.lower() == "true") == (theirs == "1")
    try:
        a, b = Decimal(ours), Decimal(theirs)
    except ArithmeticError:
        return ours.replace(", ", ",") == theirs.replace(", ", ",")
    if not (a.is_finite() and b.is_finite()):
        return str(a) == str(b)
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)


def difference(record: Record, found: list[list[Any]]) -> str:
    """The difference between a record and the result; empty where there is none."""
    ours = [[written(value) for value in row] for row in found]
    if record.digest is not None:
        said = _digest(record, ours)
        return "" if said == record.digest else f"{said}, not {record.digest}"
    if record.rows is None:
        values = [value for row in ours for value in row]
        return _compared([[v] for v in values], [[v] for v in record.values or []], record.order)
    return _compared(ours, record.rows, record.order)


def _compared(ours: list[list[str]], theirs: list[list[str]], order: str) -> str:
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, not {len(theirs)}"
    if order != "nosort":
        ours, theirs = sorted(ours, key=_key), sorted(theirs, key=_key)
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True), 1):
        if len(a) != len(b) or not all(map(alike, a, b)):
            return f"row {number}: {a}, not {b}"
    return ""


def _key(row: list[str]) -> list[str]:
    """The order of rows that have none: by numbers where there are numbers."""
    return [_number(value) for value in row]


def _number(value: str) -> str:
    try:
        return f"{float(value):+025.9f}"
    except ValueError:
        return {"(empty)": ""}.get(value, value)


def _digest(record: Record, ours: list[list[str]]) -> str:
    rows = sorted(ours) if record.order == "rowsort" else ours
    values = [value for row in rows for value in row]
    values = sorted(values) if record.order == "valuesort" else values
    text = "".join(f"{value}\n" for value in values)
    return f"{len(values)} values hashing to {hashlib.md5(text.encode()).hexdigest()}"
