"""The arguments of `windowed`: which ones each kind of data has, and what is wrong with them."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from sash.conversions import Source
from sash.plan.checks import check_known, nearest, taken
from sash.plan.definition import Query
from sash.plan.plan import Options


class Settings(TypedDict, total=False):
    """The arguments of `windowed` besides keys and time; `OPTIONS` says for which kind of data."""

    latency: Literal["average", "worst"]
    algorithm: str | None
    partitions: int | None
    split: bool | None
    emit: Literal["final", "arrival", "changes", "update"]
    late: Literal["count", "side"]
    shards: int | None
    cache: bool
    idle: Any
    lead: Any
    history: Any
    cut: Any
    checkpoint: Any


PLANNING = ("latency", "algorithm")
OPTIONS = {
    "a table in process": PLANNING,
    "a batch DataFrame": (*PLANNING, "partitions", "split"),
    "a streaming DataFrame": (
        *PLANNING,
        "emit",
        "late",
        "shards",
        "cache",
        "idle",
        "lead",
        "history",
        "cut",
        "checkpoint",
    ),
}
"""The arguments of `windowed` besides keys and time, by the kind of data."""


def spark_kind(data: Any) -> str:
    """The kind of a Spark DataFrame."""
    return "a streaming DataFrame" if data.isStreaming else "a batch DataFrame"


def check_options(given: dict[str, Any], here: str) -> None:
    """Raise TypeError if data of this kind has no such option."""
    for name in given:
        if name not in OPTIONS[here]:
            there = [kind for kind, names in OPTIONS.items() if name in names]
            where = f"is for {' or '.join(there)}" if there else "is not an option"
            near = nearest(name, ("by", "time", "descending", *OPTIONS[here]))
            raise TypeError(
                f"windowed: {name} {where}; {here} has {', '.join(OPTIONS[here])}{near}"
            )


def planning_of(options: dict[str, Any]) -> Options:
    """Decisions that the user makes instead of the planner, over a table in process."""
    return Options(**{name: options[name] for name in PLANNING if name in options})


def check_needed(query: Query, source: Source) -> None:
    """Raise an error that names all columns of the table, not only those that are read."""
    if not query.time:
        hint = source.hint("") or "the column that orders the rows"
        raise TypeError(f'windowed needs time="…": {hint}')
    names = source.names()
    for where, name in query.needed():
        check_known(name, names, where, source.hint(name))
    if query.every is None and query.spine is None:  # else it is not this table that comes back
        for out in query.outputs:
            if out in names:
                raise taken(out)


def names_of(given: Any, what: str) -> tuple[str, ...]:
    """The names of one column or of several; TypeError for what is no string."""
    names = (given,) if isinstance(given, str | int) else tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what}: names of columns are strings, not {name!r}")
    return names
