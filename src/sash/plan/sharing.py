"""Sharing of state: aggregations of the same items that one state can answer.

Two monoids share where their states are the same, lowered in different ways (variance
and standard deviation), or where the state of one is part of the other's (sum and
count of mean's). The first is found by comparing what the monoids compute, so it holds
for users' own; the second is the table VIEWS. States that share nothing may still be kept side
by side in one loop, where that takes less time: the table COMPANIONS.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sash import monoids as m
from sash.kernel import Layout
from sash.monoids.monoid import Monoid, as_monoid, same
from sash.monoids.recipe import known_as

View = Callable[[Any], Any]
"""From the partial of a monoid to that of one that it answers for."""


@dataclass(frozen=True)
class Part:
    """Where in a state another one lies.

    `seen`: where the typed state says whether it has anything; the variant over objects
    has no such flag, and begins one place earlier. `is_double`: whether a count is kept as a
    double.
    """

    place: int
    seen: int | None = None
    is_double: bool = False


VIEWS: dict[tuple[Any, Any], Part] = {
    (m.Mean, m.Count): Part(0, is_double=True),
    (m.Mean, m.Sum): Part(1),
    (m.GeoMean, m.Count): Part(0),
    (m.Var, m.Count): Part(0, is_double=True),
    (m.StdDev, m.Count): Part(0, is_double=True),
    (m.MaxCount, m.Max): Part(0),
    (m.MinCount, m.Min): Part(0),
    (m.Range, m.Min): Part(0),
    (m.Range, m.Max): Part(1),
    (m.RelativeVariation, m.Min): Part(0),
    (m.RelativeVariation, m.Max): Part(1),
    (m.M4, m.Min): Part(0),
    (m.M4, m.Max): Part(1),
    (m.ArgMax, m.Max): Part(1, seen=0),  # of its first column
    (m.ArgMin, m.Min): Part(1, seen=0),
}
"""(a monoid, one that its state answers for): where. The answers are the same to the bit."""


COMPANIONS: tuple[frozenset[Any], ...] = (
    frozenset({m.Sum, m.Mean, m.Var, m.StdDev, m.StdError}),
    frozenset({m.Min, m.Max}),
)
"""Monoids whose states take less time in one loop than in a loop each: they read the items and
the bounds of windows once. Larger groups were not faster, and every group has to be compiled."""


@dataclass(frozen=True)
class Shared:
    """Several aggregations as one monoid, whose answer is the tuple of theirs.

    A single aggregation keeps its monoid and its answer. `server[i]`: which of `kept`, the states
    that are kept, answers for aggregation i.
    """

    monoid: Monoid
    kept: tuple[Monoid, ...]
    server: tuple[int, ...]

    def member(self, answers: Any, i: int) -> Any:
        """Of the answers, those of aggregation i."""
        if len(self.server) == 1:
            return answers
        if isinstance(answers, list):
            return [answer[i] for answer in answers]
        return answers[answers.dtype.names[i]]

    def __str__(self) -> str:
        return ", ".join(monoid.name for monoid in self.kept)


def share(monoids: Sequence[Any]) -> Shared:
    """As few states as answer for all of `monoids`, over the same items.

    >>> from sash import monoids as m
    >>> shared = share([m.Sum(), m.Count(), m.Mean(), m.Var(), m.StdDev()])
    >>> print(shared)
    Mean, Var
    >>> v = shared.monoid.combine(shared.monoid.lift(1), shared.monoid.lift(3))
    >>> shared.monoid.lower(v)[:3]
    (4, 2, 2.0)
    """
    asked = tuple(as_monoid(monoid) for monoid in monoids)
    if not asked:
        raise ValueError("monoids: give at least one")
    return _shared(asked)


@functools.lru_cache(256)
def _shared(asked: tuple[Monoid, ...]) -> Shared:
    """`share`, cached: windows of several lengths ask for the same monoids."""
    if len(asked) == 1:
        return Shared(asked[0], asked, (0,))
    servers = [_server(monoid, i, asked) for i, monoid in enumerate(asked)]
    order = sorted(set(servers))
    kept = tuple(asked[i] for i in order)
    server = tuple(order.index(i) for i in servers)
    views = [view(kept[s], monoid) for s, monoid in zip(server, asked, strict=True)]
    joined = len(kept) > 1
    state = m.join(**{f"s{i}": monoid for i, monoid in enumerate(kept)}) if joined else kept[0]
    made = state.with_(
        name="+".join(monoid.name for monoid in asked),
        lower=_lower(asked, server if joined else None, views),
        typed=lambda dtype: _typed(asked, dtype),
    )
    return Shared(known_as(made, shared, {"monoids": asked}), kept, server)


def shared(monoids: Sequence[Any]) -> Monoid:
    """The monoid of `share`; by this it pickles."""
    return share(monoids).monoid


def view(server: Monoid, served: Monoid) -> View | None:
    """How the partial of `served` is read from that of `server`; None if it cannot be.

    >>> from sash import monoids as m
    >>> view(m.Mean(), m.Sum())((2, 5))
    5
    >>> view(m.Sum(), m.Mean()) is None
    True
    """
    if server.state_digest == served.state_digest:
        return same
    part = _part(server, served)
    if part is None:
        return None
    if server.identity is None:
        return _of_objects(part, served.identity)
    if part.is_double:
        return _count_at(part.place)
    if not _fits(server, served, part):
        return None
    return _at(part.place) if part.seen is None else _where_seen(part, served.identity)


def loops(kept: Sequence[Monoid]) -> list[int]:
    """For each state the first of those that it is kept in one loop with; itself, if none.

    States that can be subtracted are kept apart: with others they would take more combines.

    >>> from sash import monoids as m
    >>> loops([m.Mean(), m.Max(), m.Var(), m.Min()])
    [0, 1, 0, 1]
    """
    return [next(i for i, other in enumerate(kept) if _go_together(other, one)) for one in kept]


def _go_together(a: Monoid, b: Monoid) -> bool:
    if a is b:
        return True
    (of_a, column_a), (of_b, column_b) = _factory(a), _factory(b)
    either = any(of_a in group and of_b in group for group in COMPANIONS)
    return either and column_a == column_b and a.inverse is None and b.inverse is None


def _server(monoid: Monoid, i: int, asked: Sequence[Monoid]) -> int:
    """The aggregation whose state is kept for `monoid`: of those that serve it, the first
    that no other serves; its own where there is none."""
    serving = [j for j, other in enumerate(asked) if view(other, monoid) is not None]
    topmost = [
        j for j in serving
        if not any(
            view(asked[k], asked[j]) is not None and view(asked[j], asked[k]) is None
            for k in range(len(asked))
        )
    ]  # fmt: skip
    return topmost[0] if topmost else i


def _part(server: Monoid, served: Monoid) -> Part | None:
    (a, column_a), (b, column_b) = _factory(server), _factory(served)
    part = VIEWS.get((a, b))
    if part is None:
        return None
    of_first = a in (m.ArgMax, m.ArgMin)  # they take pairs, and serve the first column
    fits = column_a is None and column_b == 0 if of_first else column_a == column_b
    return part if fits else None


def _factory(monoid: Monoid) -> tuple[Any, int | None]:
    """The catalogue's function that made a monoid, and the column it is of."""
    if monoid.recipe is None:
        return None, None
    if monoid.recipe.factory is m.column:
        arguments = monoid.recipe.arguments
        return _factory(arguments["monoid"])[0], arguments["index"]
    return monoid.recipe.factory, None


def _fits(server: Monoid, served: Monoid, part: Part) -> bool:
    """Whether the part is kept in the very type of the served state."""
    whole = Layout.of(server.identity, server.dtype)
    if whole is None or whole.parts is None:
        return False
    return whole.parts[part.place] == Layout.of(served.identity, served.dtype)


def _at(place: int) -> View:
    def part(v: Any) -> Any:
        return v[place]

    return part


def _count_at(place: int) -> View:
    def part(v: Any) -> Any:
        return int(v[place])

    return part


def _where_seen(found: Part, identity: Any) -> View:
    place, seen = found.place, found.seen

    def part(v: Any) -> Any:
        return v[place] if v[seen] else identity

    return part


def _of_objects(found: Part, identity: Any) -> View:
    place = found.place - (found.seen is not None)
    read = _count_at(place) if found.is_double else _at(place)

    def part(v: Any) -> Any:
        return identity if v is None else read(v)

    return part


def _typed(asked: Sequence[Monoid], dtype: Any) -> Monoid | None:
    found = shared([monoid.of(dtype) for monoid in asked])
    return found if Layout.of(found.identity, found.dtype) is not None else None


def _lower(
    asked: Sequence[Monoid], server: Sequence[int] | None, views: Sequence[View | None]
) -> Any:
    """lower of a shared state: source with one call per answer, so that it compiles.

    `server`: for each answer, which part of the state it is from; None: from all of it.
    """
    scope: dict[str, Any] = {"__name__": __name__}
    calls = []
    for i, monoid in enumerate(asked):
        scope[f"lower_{i}"], scope[f"view_{i}"] = monoid.lower, views[i]
        part = "v" if server is None else f"v[{server[i]}]"
        calls.append(f"lower_{i}(view_{i}({part})), ")
    exec(f"def lower(v):\n    return ({''.join(calls)})\n", scope)
    return scope["lower"]
