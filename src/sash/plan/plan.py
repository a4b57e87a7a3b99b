"""A plan: for a set of queries, what is sliced, what is shared, and which algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sash.monoids.monoid import Monoid
from sash.plan.choose import Choice, Latency, Need, choose
from sash.plan.cost import combines, least_alone, unit
from sash.plan.late import Late, LateRunner, TreeRunner
from sash.plan.query import Periodic, Query
from sash.plan.run import Fired, Runner
from sash.plan.shared import SharedPlan
from sash.plan.sharing import Shared, share
from sash.plan.slicing import Technique

Answers = dict[str, Fired]
"""What fired, by the query's name."""


class Options(NamedTuple):
    """What the user decides instead of the planner."""

    algorithm: str | None = None
    technique: Technique | None = None
    latency: Latency = "average"
    late: bool = False
    tick: int = 1  # how many ticks there are between rows, when combines are counted


@dataclass(frozen=True)
class Group:
    """Windows of the same states, kept together.

    `answers`: for each query of the group, by its number in the plan, which window it
    is and which member of that window's answer.
    """

    slices: SharedPlan
    names: tuple[str, ...]  # of the aggregations
    states: Shared
    choice: Choice
    combines: float  # a row, about
    answers: dict[int, tuple[int, int]]


@dataclass(frozen=True)
class Plan:
    """How a set of queries is answered: groups that share slices and states.

    >>> from sash import monoids as m
    >>> from sash.plan import by_count, plan
    >>> p = plan([by_count(m.Max(), 6, 2, name="a"), by_count(m.Max(), 8, 4, name="b")])
    >>> out = p.run([3, 1, 4, 1, 5, 9, 2, 6])
    >>> list(out["a"].answer), list(out["b"].answer)
    ([3, 4, 9, 9], [4, 9])
    """

    queries: tuple[Query, ...]
    groups: tuple[Group, ...]
    options: Options

    def run(self, values: Any, times: Any = None, compiled: bool | None = None) -> Answers:
        """The answers over a whole stream: `values`, and by time `times`, sorted."""
        running = self.start(compiled)
        fed = running.feed(values, times)
        if self.queries[0].window.by == "count":  # a slide that is not full does not fire
            return fed
        rest = running.finish()
        return {name: _joined(fed[name], rest[name]) for name in fed}

    def start(self, compiled: bool | None = None) -> Running:
        """The plan at work on a stream that comes in parts."""
        return Running(self, compiled)

    @property
    def combines(self) -> float:
        """Expected combines a row; by time, where a row comes every `options.tick`."""
        return sum(group.combines for group in self.groups)

    def alone(self) -> Plan:
        """The same queries, each alone."""
        return _planned(self.queries, [[i] for i in range(len(self.queries))], self.options)

    def explain(self) -> str:
        """The plan as text: slices, sharing, algorithm, expected combines."""
        from sash.plan.explain import explain

        return explain(self)


class Running:
    """A plan at work: parts of a stream in, what fires out, by query."""

    def __init__(self, plan: Plan, compiled: bool | None = None) -> None:
        self.plan = plan
        self._runners = [_runner(group, plan.options.late, compiled) for group in plan.groups]

    def feed(self, values: Any, times: Any = None, watermark: int | None = None) -> Answers:
        """Take more rows: an array, a tuple of arrays (a column each), or a list.

        In a plan with late rows, windows fire when `watermark`, a time, has passed them;
        in another, when a row comes that is not before their end.
        """
        by_time = self.plan.queries[0].window.by == "time"
        if by_time and times is None:
            raise TypeError("times: queries by time need the time of each row")
        if self.plan.options.late:
            fired = [runner.feed(times, values, watermark) for runner in self._runners]
        elif watermark is not None:
            raise TypeError("watermark: give late=True to the plan, for rows in any order")
        else:
            fired = [runner.feed(times, values) for runner in self._runners]
        return self._named(fired)

    @property
    def late(self) -> list[Late]:
        """The rows that came after a window of theirs had fired."""
        return self._runners[0].late if self.plan.options.late else []

    def finish(self) -> Answers:
        """No more rows come: the windows that are still open."""
        return self._named([runner.finish() for runner in self._runners])

    def _named(self, fired: list[list[Fired]]) -> Answers:
        found: dict[int, Fired] = {}
        for group, windows in zip(self.plan.groups, fired, strict=True):
            for query, (window, member) in group.answers.items():
                of = windows[window]
                found[query] = replace(of, answer=group.states.member(of.answer, member))
        return {query.name: found[i] for i, query in enumerate(self.plan.queries)}


def plan(
    queries: Sequence[Query],
    *,
    algorithm: str | None = None,
    technique: Technique | None = None,
    latency: Latency = "average",
    late: bool = False,
    dtype: Any = None,
) -> Plan:
    """A plan for `queries` over one stream; in order, unless `late` rows are to be had.

    `algorithm` and `technique` override the choice; with `latency="worst"` no row takes
    long. `dtype`: of the values, where it is known: a sum of integers has an inverse.
    """
    asked = _named(queries)
    if late and asked[0].window.by == "count":
        raise ValueError("late: rows by count have no time that they could be late for")
    if dtype is not None:
        asked = tuple(replace(query, monoid=query.monoid.of(dtype)) for query in asked)
    distinct, which = _distinct([query.monoid for query in asked])
    asked = tuple(replace(q, monoid=distinct[k]) for q, k in zip(asked, which, strict=True))
    by_count = asked[0].window.by == "count"
    tick = 1 if by_count else unit([query.window for query in asked])
    options = Options(algorithm, technique, latency, late, tick)
    return _planned(asked, _by_state(asked), options)


def _named(queries: Sequence[Query]) -> tuple[Query, ...]:
    if not queries:
        raise ValueError("queries: a plan needs at least one")
    if len({query.window.by for query in queries}) > 1:
        raise ValueError("queries: by count and by time can not be in one plan")
    named = tuple(replace(query, name=query.name or f"q{i}") for i, query in enumerate(queries))
    names = [query.name for query in named]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"queries: the name {twice[0]!r} is there twice")
    return named


def _by_state(queries: Sequence[Query]) -> list[list[int]]:
    """The queries in sets that are kept together: those that one state serves; and states
    that are asked for over the very same windows, as one state of them all."""
    distinct, which = _distinct([query.monoid for query in queries])
    server = share(distinct).server
    served: dict[int, list[int]] = {}
    for i in range(len(queries)):
        served.setdefault(server[which[i]], []).append(i)
    together: dict[frozenset[Periodic], list[int]] = {}
    for members in served.values():
        together.setdefault(frozenset(queries[i].window for i in members), []).extend(members)
    return [sorted(members) for members in together.values()]


def _planned(queries: tuple[Query, ...], sets: list[list[int]], options: Options) -> Plan:
    groups = [group for members in sets for group in _arranged(queries, members, options)]
    return Plan(queries, tuple(groups), options)


def _arranged(queries: Sequence[Query], members: list[int], options: Options) -> list[Group]:
    """One group for all members; or one a window, where that takes fewer combines."""
    windows = list(dict.fromkeys(queries[i].window for i in members))
    techniques: list[Technique] = ["pairs", "cutty"] if len(windows) > 1 else ["cutty"]
    if options.late or options.algorithm == "FiBA" or options.latency == "worst":
        techniques = ["pairs"]  # no slice is in progress when a window fires
    if options.technique is not None:
        techniques = [options.technique]
    tried = [_group(queries, members, options._replace(technique=t)) for t in techniques]
    best = min(tried, key=lambda group: round(group.combines, 1))  # the first of about equals
    least = len(best.states.kept) * sum(least_alone(window, options.tick) for window in windows)
    if len(windows) == 1 or options.late or best.combines <= least:
        return [best]
    alone = _alone(queries, members, options)
    return [best] if best.combines <= sum(group.combines for group in alone) else alone


def _alone(queries: Sequence[Query], members: list[int], options: Options) -> list[Group]:
    """A group for each window."""
    of_window: dict[Periodic, list[int]] = {}
    for i in members:
        of_window.setdefault(queries[i].window, []).append(i)
    chosen = options._replace(technique=options.technique or "cutty")
    return [_group(queries, of, chosen) for of in of_window.values()]


def _group(queries: Sequence[Query], members: list[int], options: Options) -> Group:
    distinct, which = _distinct([queries[i].monoid for i in members])
    states = share(distinct)
    longest_first = sorted({queries[i].window for i in members}, key=lambda w: (-w.reach, w.slide))
    assert options.technique is not None
    slices = SharedPlan(tuple(longest_first), options.technique)
    ranges = len({window.reach for window in longest_first})
    if len(longest_first) > 1:
        ranges = max(2, ranges)  # of one reach, but not fired together
    every_item = all(window.by == "count" and window.slide == 1 for window in longest_first)
    need = Need(
        states.monoid, slices.longest, ranges, every_item,
        ordered=not options.late, latency=options.latency,
    )  # fmt: skip
    choice = choose(need, options.algorithm)
    each = combines(slices, choice, states.monoid.inverse is not None, options.tick)
    answers = {i: (longest_first.index(queries[i].window), which[k]) for k, i in enumerate(members)}
    names = tuple(monoid.name for monoid in distinct)
    return Group(slices, names, states, choice, len(states.kept) * each, answers)


def _distinct(monoids: Sequence[Monoid]) -> tuple[list[Monoid], list[int]]:
    """The monoids that compute different things, and which of them each is."""
    of_digest: dict[str, int] = {}
    of_object: dict[int, int] = {}
    found: list[Monoid] = []
    for monoid in monoids:
        if id(monoid) in of_object:
            continue
        number = of_digest.setdefault(monoid.digest, len(found))
        if number == len(found):
            found.append(monoid)
        of_object[id(monoid)] = number
    return found, [of_object[id(monoid)] for monoid in monoids]


def _runner(group: Group, late: bool, compiled: bool | None) -> Any:
    slices, monoid = group.slices, group.states.monoid
    if late:
        return LateRunner(slices, monoid, compiled)
    if group.choice.algorithm == "FiBA":
        return TreeRunner(slices, monoid, compiled)
    return Runner(slices, monoid, group.choice.algorithm, compiled)


def _joined(a: Fired, b: Fired) -> Fired:
    if not len(b) or not len(a):
        return a if len(a) else b
    if isinstance(a.answer, list) or isinstance(b.answer, list):
        answer: Any = [*a.answer, *b.answer]
    else:
        masked = np.ma.isMA(a.answer) or np.ma.isMA(b.answer)
        join: Any = np.ma.concatenate if masked else np.concatenate
        answer = join((a.answer, b.answer))
    return replace(a, ticks=np.concatenate((a.ticks, b.ticks)), answer=answer)
