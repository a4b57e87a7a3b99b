"""Sash keeps aggregates over sliding windows up to date, exactly, at a flat cost a row."""

from typing import Any

from sash import monoids, swag
from sash.monoids import Monoid
from sash.windows import (
    calendar,
    delta,
    groups_between,
    lifetime,
    policy,
    range_between,
    rows,
    rows_between,
    session,
    sliding,
    tumbling,
    until,
)

__version__ = "0.1.0"

__all__ = [
    "Monoid", "calendar", "delta", "features", "functions", "groups_between", "lifetime",
    "monoids", "policy", "range_between", "rows", "rows_between", "session", "sliding", "stream", "swag", "tumbling", "until",
    "windowed",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Tables need pyarrow: it is imported when they are first used."""
    import importlib

    if name in ("windowed", "features"):
        return getattr(importlib.import_module("sash.tables"), name)
    if name == "stream":
        return importlib.import_module("sash.streams").stream
    if name in ("functions", "spark"):
        return importlib.import_module(f"sash.{name}")
    raise AttributeError(f"module 'sash' has no attribute {name!r}")
