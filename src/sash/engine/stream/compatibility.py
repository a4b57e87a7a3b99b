"""Which definitions state can go on with: what it depends on, and what may change."""

from __future__ import annotations

import math
from typing import Any

from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.pages import StateError
from sash.engine.stream.partials import PartialState
from sash.plan.kept import Structure
from sash.plan.plan import State
from sash.windows.duration import Duration

LABELS = {
    "ahead": "how far windows reach after a row",
    "every": "the windows of every",
    "other columns": "columns that are passed on",
    "waits": "what waits for the watermark",
}
"""The names of parts of a definition in messages, where they differ."""


FIXED = (
    "keys", "time", "every", "emit", "columns", "other columns", "numbers", "shards", "ahead",
    "waits",
)  # fmt: skip
"""The parts of a definition that may not change."""

BEFORE = {"waits": "rows", "numbers": "hashed"}
"""Parts of a definition as they were before it said so."""


def described(definition: StreamDefinition) -> dict[str, Any]:
    """Everything that the state depends on, by name."""
    query, schema = definition.plan.query, definition.schema
    frames = {out: f"{a} over {a.frame}" for out, a in query.aggregations.items()}
    per_key: tuple[Structure, ...] = ("tail", "so far", "waiting")
    kept = {
        f"{kind}: {_kept(definition, state)}"
        for kind in per_key
        for state in definition.plan.of(kind)
    }
    return {
        "keys": list(query.by),
        "time": ", ".join((query.time, *query.ties)),
        "columns": {name: str(schema.field(name).type) for name in definition.needed},
        "other columns": {name: str(schema.field(name).type) for name in definition.passthrough},
        "emit": definition.kept.emit,
        "shards": definition.shards,
        **({} if definition.numbers is None else {"numbers": definition.numbers}),
        "every": None if query.every is None else str(query.every),
        "ahead": None if math.isinf(definition.kept.ahead) else definition.kept.ahead,
        "waits": "slices" if definition.slices_at_once else "rows",
        "bulks": definition.kept.bulks,
        "partials": [state.name for state in definition.partials],
        "per key": sorted(kept),
        "aggregations": frames,
    }


def _kept(definition: StreamDefinition, state: State) -> str:
    """The tail that a key keeps for a state: of partials also which ones, rows serve any."""
    frame = str(definition.plan.frames[state.frame].frame)
    if state.structure != "so far":
        return frame
    return f"{frame}, {PartialState(definition.plan, state).name}"


def _shown(definition: StreamDefinition, name: str, value: Any) -> str:
    """A part of a definition in words, with durations in place of ticks."""
    if name == "ahead":
        unit = definition.plan.unit
        if value is None:
            return "without end"
        return f"{value:g}" if unit is None else str(Duration(round(value * unit)))
    if isinstance(value, dict):
        return ", ".join(f"{key} {kind}" for key, kind in value.items()) or "none"
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)


def accepts(
    definition: StreamDefinition, known: dict[str, Any], complete: float | None, mark: float | None
) -> bool:
    """Whether state of another definition goes on with this one: True if its tree is to
    be built again from its rows. StateError where the state cannot answer.

    `complete`: from which time on the state has all rows (None: all there ever were);
    `mark`: its watermark.
    """
    new = described(definition)
    known = BEFORE | known
    for name in FIXED:
        if name in new and known.get(name) != new[name]:
            old, now = (
                _shown(definition, name, known.get(name)),
                _shown(definition, name, new[name]),
            )
            raise StateError(_changed(LABELS.get(name, name), old, now))
    sliced = definition.plan.query.every is not None and known["partials"] != new["partials"]
    if sliced and (mark is not None or new["waits"] == "slices"):
        asked, now = known["aggregations"], new["aggregations"]
        raise StateError(_changed_partials("what slices have combined", asked, now, known, new))
    if mark is None:
        return False  # nothing was sealed yet
    missing = sorted(set(new["per key"]) - set(known["per key"]))
    if missing:
        old, now = (_shown(definition, "per key", d["per key"]) for d in (known, new))
        raise StateError(
            _changed_partials("what each key keeps", old or "nothing", now, known, new)
        )
    if definition.by_time and not known["bulks"]:
        raise StateError(_changed("windows by time", "none", new["aggregations"]))
    if definition.by_time and complete is not None and definition.horizon(mark) < complete:
        raise StateError(
            f"the stream's windows have become longer: they reach back to "
            f"{definition.moment(definition.horizon(mark))}, and the state has all rows only "
            f"from {definition.moment(complete)} on. Go on with windows that are no longer, or "
            "start from a new checkpoint"
        )
    return known["partials"] != new["partials"]


def _changed_partials(
    what: str, old: Any, now: Any, known: dict[str, Any], new: dict[str, Any]
) -> str:
    if known["aggregations"] != new["aggregations"]:
        return _changed(what, old, now)
    return (
        "the stream's partials were written by another version of Sash, or of a monoid, which "
        "keeps the same aggregations in another form: go on with that version, or start from a "
        "new checkpoint"
    )


def _changed(what: str, old: Any, new: Any) -> str:
    if what == "shards":
        return (
            f"the stream was started with {old} shards, now there are {new}, so keys would be "
            f"elsewhere: give windowed(…, shards={old}), or start from a new checkpoint"
        )
    if what == "numbers":
        return (
            "the state is of an earlier version of Sash, which gave keys other numbers: give "
            "windowed(…, checkpoint=…), which goes on with them, or start from a new checkpoint"
        )
    return (
        f"the stream was started with another definition: {what}: {old} then, {new} now. Go "
        "on with the old one, or start from a new checkpoint"
    )
