"""Laws: does a monoid keep what it promises, on the samples given?"""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sash.monoids.compare import TOLERANCE, alike
from sash.monoids.monoid import Monoid, as_monoid

Equal = Callable[[Any, Any], bool]
MOST_TRIPLES = 4000
WIDTH = 60


class State(NamedTuple):
    """A state, and how it came about."""

    made: str
    value: Any


@dataclass(frozen=True)
class Counterexample:
    """Where a monoid breaks a law; its text is one line."""

    monoid: str
    law: str
    left: str
    right: str
    where: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        where = ", ".join(f"{name} = {made}" for name, made in self.where)
        text = f"{self.monoid} {self.law}: {self.left}, but {self.right}"
        return text + (f", for {where}" if where else "")


def check_laws(
    monoid: Any,
    samples: Iterable[Any],
    *,
    tolerance: float = TOLERANCE,
    equal: Equal | None = None,
) -> Counterexample | None:
    """A counterexample to a law of `monoid`, found with `samples` of its input, or None.

    Checked on the identity, on lifted samples and on their combinations: the identity is
    neutral on both sides and can be lowered, combine is associative and leaves its arguments as
    they are, commutes if the monoid says so, and inverse takes the older part away. Where there is
    a typed variant for the samples, it is checked too, and against the monoid.

    Float addition is not associative: states may differ by `tolerance` (see `alike`), or
    use samples that are whole numbers and tolerance=0. `equal(a, b)` replaces that
    comparison for states that need another.

    >>> from sash import Monoid, monoids as m
    >>> check_laws(m.Max(), [3, 1, None, 2]) is None
    True
    >>> print(check_laws(Monoid("halfway", 0, float, lambda a, b: (a + b) / 2), [1, 2, 4]))
    halfway has a wrong identity: combine(identity, a) = 0.5, but a = 1.0, for a = lift(1)
    """
    monoid, items = as_monoid(monoid), list(samples)
    if not items:
        raise ValueError("check_laws: give at least one sample of the monoid's input")
    same: Equal = equal or (lambda a, b: alike(a, b, tolerance))
    found = next(_broken(monoid, items, same), None) or _not_lowered(monoid)
    typed = None if found else _typed_for(monoid, items)
    if typed is not None:
        found = next(_broken(typed, items, same), None) or _differs(monoid, typed, items, tolerance)
    return found


def _broken(monoid: Monoid, items: Sequence[Any], same: Equal) -> Iterator[Counterexample]:
    pool = list(_states(monoid, items))
    for a, b in _some(itertools.product(pool, pool), len(pool) ** 2):
        yield from _unchanged(monoid, a, b, same)
    for a in pool:
        yield from _identity(monoid, a, same)
    for a, b in _some(itertools.product(pool, pool), len(pool) ** 2):
        yield from _pair(monoid, a, b, same)
    for a, b, c in _some(itertools.product(pool, pool, pool), len(pool) ** 3):
        yield from _associative(monoid, a, b, c, same)


def _states(monoid: Monoid, items: Sequence[Any]) -> Iterator[State]:
    """The identity, the lifted samples, and those combined by two and by three."""
    lifted = [State(f"lift({_shown(x)})", monoid.lift(x)) for x in items]
    pairs = [_combined(monoid, a, b) for a, b in itertools.pairwise(lifted)]
    triples = [_combined(monoid, a, b) for a, b in zip(pairs, lifted[2:], strict=False)]
    yield State("identity", monoid.identity)
    yield from lifted
    yield from pairs
    yield from triples


def _combined(monoid: Monoid, a: State, b: State) -> State:
    older, younger = copy.deepcopy((a.value, b.value))
    return State(f"combine({a.made}, {b.made})", monoid.combine(older, younger))


def _some(tuples: Iterator[Any], count: int) -> Iterator[Any]:
    """All of them, or a sample that is the same in every run."""
    if count <= MOST_TRIPLES:
        return tuples
    chance, draw = MOST_TRIPLES / count, random.Random(count)
    return (t for t in tuples if draw.random() < chance)


def _unchanged(monoid: Monoid, a: State, b: State, same: Equal) -> Iterator[Counterexample]:
    older, younger = copy.deepcopy((a.value, b.value))
    monoid.combine(older, younger)
    for name, before, after in (("a", a.value, older), ("b", b.value, younger)):
        if not same(before, after):
            left, right = f"{name} was {_shown(before)}", f"is {_shown(after)} after combine(a, b)"
            yield _example(monoid, "changes what it combines", left, right, a=a, b=b)


def _identity(monoid: Monoid, a: State, same: Equal) -> Iterator[Counterexample]:
    e, combine = monoid.identity, monoid.combine
    for text, value in (
        ("combine(identity, a)", combine(e, a.value)),
        ("combine(a, identity)", combine(a.value, e)),
    ):
        if not same(value, a.value):
            left, right = f"{text} = {_shown(value)}", f"a = {_shown(a.value)}"
            yield _example(monoid, "has a wrong identity", left, right, a=a)


def _pair(monoid: Monoid, a: State, b: State, same: Equal) -> Iterator[Counterexample]:
    total = monoid.combine(a.value, b.value)
    if monoid.commutative:
        other = monoid.combine(b.value, a.value)
        if not same(total, other):
            left, right = f"combine(a, b) = {_shown(total)}", f"combine(b, a) = {_shown(other)}"
            yield _example(monoid, "is not commutative", left, right, a=a, b=b)
    if monoid.inverse is not None:
        rest = monoid.inverse(total, a.value)
        if not same(rest, b.value):
            left = f"inverse(combine(a, b), a) = {_shown(rest)}"
            yield _example(monoid, "has a wrong inverse", left, f"b = {_shown(b.value)}", a=a, b=b)


def _associative(
    monoid: Monoid, a: State, b: State, c: State, same: Equal
) -> Iterator[Counterexample]:
    combine = monoid.combine
    first = combine(combine(a.value, b.value), c.value)
    last = combine(a.value, combine(b.value, c.value))
    if not same(first, last):
        left = f"combine(combine(a, b), c) = {_shown(first)}"
        right = f"combine(a, combine(b, c)) = {_shown(last)}"
        yield _example(monoid, "is not associative", left, right, a=a, b=b, c=c)


def _differs(
    monoid: Monoid, typed: Monoid, items: Sequence[Any], tolerance: float
) -> Counterexample | None:
    """Where the typed variant gives another answer than the monoid over objects."""
    for end in range(1, len(items) + 1):
        ours, its = _answer(monoid, items[:end]), _answer(typed, items[:end])
        if not alike(ours, its, tolerance):
            left, right = f"{_shown(ours)} over objects", f"{_shown(its)} typed"
            where = State(_shown(list(items[:end])), None)
            return _example(monoid, "and its typed variant differ", left, right, items=where)
    return None


def _answer(monoid: Monoid, items: Sequence[Any]) -> Any:
    total = monoid.identity
    for x in items:
        total = monoid.combine(total, monoid.lift(x))
    return monoid.lower(total)


def _not_lowered(monoid: Monoid) -> Counterexample | None:
    try:
        monoid.lower(copy.deepcopy(monoid.identity))
    except Exception as problem:  # of the user's function
        said = f"lower(identity) raises {type(problem).__name__}: {problem}"
        instead = "a window without rows then gives null; have lower give an answer for it"
        return _example(monoid, "has no answer for no rows", said, instead)
    return None


def _typed_for(monoid: Monoid, items: Sequence[Any]) -> Monoid | None:
    """The variant for the dtype of `items`, if they are numbers (or tuples of them)."""
    if monoid.typed is None:
        return None
    if all(isinstance(x, tuple) for x in items):
        columns = [_dtype(column) for column in zip(*items, strict=True)]
        return None if None in columns else monoid.typed(tuple(columns))
    dtype = _dtype(items)
    return None if dtype is None else monoid.typed(dtype)


def _dtype(items: Sequence[Any]) -> np.dtype | None:
    if not all(isinstance(x, bool | int | float | np.number | np.bool_) for x in items):
        return None
    found = np.array(items).dtype
    return found if found.kind in "bif" else None


def _example(monoid: Monoid, law: str, left: str, right: str, **where: State) -> Counterexample:
    name = repr(monoid) if monoid.recipe is not None else monoid.name
    places = tuple((letter, state.made) for letter, state in where.items())
    return Counterexample(name, law, left, right, places)


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= WIDTH else text[: WIDTH - 2] + " …"
