"""Recording of a window at work, step by step: what was called, kept, combined and answered."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sash.pictures.trace import Combine, Row, Trace, Traced, traced
from sash.swag.fiba import FiBA
from sash.swag.parts import Node, Part
from sash.swag.window import Window

LONGEST = 14  # letters of a value


@dataclass(frozen=True)
class Step:
    """The effects of one call."""

    call: str
    arrived: int  # rows so far
    window: tuple[int, ...]  # rows that are in the window
    parts: tuple[Part, ...]
    combines: tuple[Combine, ...] = ()
    answer: str | None = None
    tree: tuple[Node, ...] = ()
    at: int | None = None  # the row that the answer is of


@dataclass
class Recording:
    """The rows, partials and steps of one window, or of windows that share partials."""

    title: str
    lead: str
    trace: Trace
    card: str = ""
    values: list[str] = field(default_factory=list)
    times: list[Any] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def add_row(self, value: Any, time: Any = None) -> Row:
        """A row that comes."""
        self.values.append(said(value))
        self.times.append(time)
        return Row(len(self.values) - 1, value)

    def json(self) -> dict[str, Any]:
        """All of it as the page reads it."""
        return {
            "title": self.title,
            "lead": self.lead,
            "card": self.card,
            "rows": [
                {"value": value, "time": None if time is None else said(time, 19), "place": place}
                for value, time, place in zip(self.values, self.times, self._places())
            ],
            "ranks": self._ranks(),
            "partials": [{"value": said(p.value), "rows": p.rows} for p in self.trace.partials],
            "steps": [_step(step) for step in self.steps],
        }

    def _ranks(self) -> list[int]:
        """The place of each row in order of time; rows of equal time as they came."""
        if any(time is None for time in self.times):
            return list(range(len(self.times)))
        order = sorted(range(len(self.times)), key=lambda row: self.times[row])
        ranks = [0] * len(order)
        for rank, row in enumerate(order):
            ranks[row] = rank
        return ranks

    def _places(self) -> list[float | None]:
        """Where rows are on a line of time, from 0 to 1; None where times are no numbers."""
        try:
            first = min(self.times)
            steps = [_number(time - first) for time in self.times]
        except (TypeError, ValueError):
            return [None] * len(self.times)
        return [step / (max(steps) or 1.0) for step in steps]


def _number(span: Any) -> float:
    return float(span.total_seconds() if hasattr(span, "total_seconds") else span)


def _step(step: Step) -> dict[str, Any]:
    return {
        "call": step.call,
        "arrived": step.arrived,
        "window": step.window,
        "parts": [(p.group, p.place, p.partial.number) for p in step.parts],
        "combines": [
            (c.older.number, c.younger.number, c.result.number, c.is_inverse) for c in step.combines
        ],
        "answer": step.answer,
        "at": step.at,
        "tree": [
            {
                "node": node.number, "level": node.level, "side": node.side,
                "entries": [partial.number for _, partial in node.entries],
                "children": node.children,
            }
            for node in step.tree
        ],
    }  # fmt: skip


class Recorder:
    """A window that is recorded: it has the window's own methods, and each call is a step.

    >>> from sash import monoids as m, swag
    >>> recorder = Recorder(swag.FiBA(m.Max(), min_arity=2))
    >>> recorder.insert(5, 30); recorder.insert(3, 40); recorder.query()
    40
    >>> [step.call for step in recorder.recording.steps]
    ['insert(5, 30)', 'insert(3, 40)', 'query()']
    """

    def __init__(self, window: Window, lead: str = "") -> None:
        if len(window):
            raise ValueError(
                f"show begins with an empty window, but this one has {len(window)} items: give "
                "it a new one, and the values to insert"
            )
        monoid, self.trace = traced(window.monoid)
        options = window.options
        if options.get("policy") is not None:
            options["policy"] = _over_values(options["policy"])
        self.window: Any = type(window)(monoid, **options, compiled=False)
        name, of = type(window).__name__, window.monoid.name
        card = inspect.getdoc(inspect.getmodule(type(window))) or ""
        self.recording = Recording(f"{name} of {of}", lead, self.trace, card)
        self._here: list[int] = []  # rows in a window in order, without those that were removed
        self.arrived = 0  # rows that came
        self.about = ""  # stands before a call

    def insert(self, *arguments: Any) -> None:
        """`insert(x)`, or FiBA's `insert(time, x)`."""
        *time, value = arguments
        self.take(self.recording.add_row(value, *time), *time)

    def take(self, row: Row, *time: Any) -> None:
        """Insert a row that the recording has already."""
        self._came([row])
        call = f"insert({_listed((*time, row.value))})"
        self._do(call, lambda: self.window.insert(*time, row))

    def insert_many(self, xs: Iterable[Any]) -> None:
        """Insert each of `xs`, in one step."""
        rows = [self.recording.add_row(x) for x in xs]
        self._came(rows)
        call = f"insert_many([{', '.join(said(row.value) for row in rows)}])"
        self._do(call, lambda: self.window.insert_many(rows))

    def bulk_insert(self, times: Iterable[Any], xs: Iterable[Any]) -> None:
        """FiBA: insert each of `xs` at its time, in one step."""
        times, xs = list(times), list(xs)
        rows = [self.recording.add_row(x, time) for time, x in zip(times, xs, strict=True)]
        self._came(rows)
        call = f"bulk_insert([{_listed(times)}], [{_listed(xs)}])"
        self._do(call, lambda: self.window.bulk_insert(times, rows))

    def remove(self, *positions: int) -> None:
        """Reactive: remove items anywhere."""
        here = self._here[len(self._here) - len(self.window) :]
        self._do(f"remove({_listed(positions)})", lambda: self.window.remove(*positions))
        gone = {here[position] for position in positions}
        self._here = [row for row in here if row not in gone]
        self._again()

    def query(self, **options: Any) -> Any:
        """The window's query; its answer is in the step."""
        given = ", ".join(f"{name}={value}" for name, value in options.items())
        return self._asked(f"query({given})", lambda: self.window.query(**options))

    def begin(self, row: int) -> None:
        """The calls that follow are for this row, which is there now."""
        self.arrived, self.about = max(self.arrived, row + 1), f"row {row}: "

    def answer_of(self, row: int, nothing: Any, is_empty: bool) -> Any:
        """A query whose answer belongs to a row; `nothing` is that of an empty window."""
        ask = (lambda: nothing) if is_empty else self.window.query
        return self._asked("query()", ask, row)

    def drop_all(self, front: int, reached: int) -> int:
        """Begin with an empty window again; gives where it begins."""
        if reached > front:
            self.evict_many(len(self.window))
        return reached

    def range_query(self, lo: Any, hi: Any) -> Any:
        """FiBA's range query."""
        return self._asked(
            f"range_query({said(lo)}, {said(hi)})", lambda: self.window.range_query(lo, hi)
        )

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in ("evict", "evict_many", "bulk_evict"):
            raise AttributeError(f"a recorded window has no {name!r}")
        method = getattr(self.window, name)
        return lambda *given: self._do(f"{name}({_listed(given)})", lambda: method(*given))

    def slide(self, xs: Sequence[Any], size: int | None, times: Sequence[Any] | None) -> None:
        """Insert each of `xs`, evict down to the last `size` items, query."""
        for number, x in enumerate(xs):
            while size is not None and len(self.window) >= size and times is None:
                self.evict()
            self.insert(*(() if times is None else (times[number],)), x)
            while size is not None and len(self.window) > size:
                self.evict()
            self.query()

    def _came(self, rows: list[Row]) -> None:
        self._here += [row.number for row in rows]
        self.arrived = max([self.arrived, *(row.number + 1 for row in rows)])

    def _asked(self, call: str, ask: Callable[[], Any], row: int | None = None) -> Any:
        found = self._do(call, ask)
        of = self.arrived - 1 if row is None and not isinstance(self.window, FiBA) else row
        self.recording.steps[-1] = replace(self.recording.steps[-1], answer=said(found), at=of)
        return found

    def _do(self, call: str, do: Callable[[], Any]) -> Any:
        self.trace.taken()
        found = do()
        parts, combines = tuple(self.window.parts()), tuple(self.trace.taken())
        call = self.about + call
        step = Step(call, self.arrived, self._window(), parts, combines, tree=self._tree())
        self.recording.steps.append(step)
        return found

    def _again(self) -> None:
        """The last step once more, now that it is known which rows left."""
        steps = self.recording.steps
        steps[-1] = replace(steps[-1], window=self._window())

    def _tree(self) -> tuple[Node, ...]:
        return tuple(self.window.nodes()) if isinstance(self.window, FiBA) else ()

    def _window(self) -> tuple[int, ...]:
        if isinstance(self.window, FiBA):
            return tuple(row for _, partial in self.window for row in partial.rows)
        return tuple(self._here[len(self._here) - len(self.window) :])


def _over_values(policy: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """The policy over traced partials."""

    def decide(total: Traced, old: Traced) -> bool:
        return bool(policy(total.value, old.value))

    return decide


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(said, values))


def said(value: Any, longest: int = LONGEST) -> str:
    """A value in few letters.

    >>> said(3.14159265), said("a rather long text"), said((1, 2.0)), said(None)
    ('3.142', 'a rather long…', '(1, 2)', 'null')
    """
    text = _said(value)
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def _said(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, Traced | Row):
        return _said(value.value)
    if hasattr(value, "item") and not getattr(value, "shape", True):
        value = value.item()
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value:.4g}".replace("inf", "∞")
    if isinstance(value, tuple):
        return f"({', '.join(map(_said, value))})"
    return str(value)
