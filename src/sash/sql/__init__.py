"""SQL: `sash.sql("SELECT sum(x) OVER (…) FROM t", t=df)` on the same plan and engine.

Sash computes the windows; pyarrow, DuckDB or Spark what is around them. The module is the
function: `sash.sql(query, **tables)` and `sash.sql.explain(query, **tables)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sash.sql.run import explain as explain
    from sash.sql.run import sql as sql

__all__ = ["explain", "sql"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'sash.sql' has no attribute {name!r}")
    try:
        from sash.sql import run
    except ModuleNotFoundError as problem:
        if problem.name != "sqlglot":
            raise
        raise ModuleNotFoundError(
            "sash.sql reads queries with sqlglot: pip install 'sash[sql]'", name="sqlglot"
        ) from problem
    return getattr(run, name)


class _Function(ModuleType):
    """A module that can be called."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return __getattr__("sql")(*arguments, **named)


sys.modules[__name__].__class__ = _Function
