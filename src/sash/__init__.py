"""Sash keeps aggregates over sliding windows up to date, exactly, at a flat cost per row."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sash import functions as functions
    from sash import monoids as monoids
    from sash import serve as serve
    from sash import spark as spark
    from sash import stores as stores
    from sash import swag as swag
    from sash.monoids import Monoid as Monoid
    from sash.pictures import show as show
    from sash.sql.run import Sql
    from sash.streams import stream as stream
    from sash.tables import features as features
    from sash.tables import windowed as windowed
    from sash.windows import calendar as calendar
    from sash.windows import delta as delta
    from sash.windows import groups_between as groups_between
    from sash.windows import lifetime as lifetime
    from sash.windows import policy as policy
    from sash.windows import range_between as range_between
    from sash.windows import rows as rows
    from sash.windows import rows_between as rows_between
    from sash.windows import session as session
    from sash.windows import sliding as sliding
    from sash.windows import tumbling as tumbling
    from sash.windows import until as until

    sql: Sql

__version__ = "0.1.0"

# Where each name is: it is imported when it is first used, so that `import sash` costs nothing.
# Spark starts a Python process on the driver for each micro-batch, which imports this package.
_HOMES = {
    "Monoid": "sash.monoids", "calendar": "sash.windows", "delta": "sash.windows",
    "features": "sash.tables", "functions": "", "groups_between": "sash.windows",
    "lifetime": "sash.windows", "monoids": "", "policy": "sash.windows",
    "range_between": "sash.windows", "rows": "sash.windows", "rows_between": "sash.windows",
    "serve": "", "session": "sash.windows", "show": "sash.pictures", "sliding": "sash.windows",
    "spark": "",
    "sql": "", "stores": "", "stream": "sash.streams", "swag": "", "testing": "",
    "tumbling": "sash.windows", "until": "sash.windows", "windowed": "sash.tables",
}  # fmt: skip

__all__ = [
    "Monoid", "calendar", "delta", "features", "functions", "groups_between", "lifetime",
    "monoids", "policy", "range_between", "rows", "rows_between", "serve", "session", "show",
    "sliding",
    "sql", "stream", "swag", "tumbling", "until", "windowed",
]  # fmt: skip


if not TYPE_CHECKING:  # type checkers know the names above, and no others

    def __getattr__(name: str) -> Any:
        import importlib

        if name not in _HOMES:
            raise AttributeError(_unknown(name))
        if home := _HOMES[name]:
            return getattr(importlib.import_module(home), name)
        return importlib.import_module(f"sash.{name}")


def _unknown(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, _HOMES, 1)
    hint = f"; did you mean sash.{near[0]}?" if near else ""
    elsewhere = "" if near else f"; there are {', '.join(sorted(_HOMES))}"
    return f"module 'sash' has no attribute {name!r}{hint}{elsewhere}"


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *_HOMES})
