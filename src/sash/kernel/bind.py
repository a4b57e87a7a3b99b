"""Bind: give the words of an algorithm their meaning, by copying its functions.

A function is copied with other globals: words are replaced by their meanings, and
the functions it calls are copied in turn. `wrap` is what each copy goes through:
nothing for plain Python, numba for machine code.
"""

from __future__ import annotations

import operator
import time
import types
from collections.abc import Callable, Mapping
from typing import Any

from sash.kernel import words
from sash.monoids.captured import names_of
from sash.monoids.monoid import Monoid

Function = types.FunctionType


class Binder:
    """Copies functions with words replaced, each once, following what they call."""

    def __init__(
        self,
        meanings: Mapping[Any, Any],
        follow: Callable[[Function], bool],
        wrap: Callable[[Function, Function], Any] = lambda copy, original: copy,
    ) -> None:
        self._done: dict[Any, Any] = dict(meanings)
        self._follow, self._wrap = follow, wrap

    def __call__(self, function: Any) -> Any:
        if function in self._done:
            return self._done[function]
        # Cached machine code is loaded with the function's module: name one that is there.
        scope: dict[str, Any] = {"__builtins__": __builtins__, "__name__": __name__}
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        copy = Function(
            function.__code__, scope, function.__name__, function.__defaults__, cells or None
        )
        self._done[function] = self._wrap(copy, function)
        scope.update(self.scope(function))
        for cell, original in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = self._meaning(original.cell_contents)
        return self._done[function]

    def define(self, word: Any, step: Any) -> None:
        """Let a word mean what a step does; one that is not followed is taken unchanged."""
        self._done[word] = self(step) if self._follow(step) else step

    def scope(self, function: Function) -> dict[str, Any]:
        """The globals that `function` uses, with their meanings."""
        used = names_of(function.__code__) & function.__globals__.keys()
        return {name: self._meaning(function.__globals__[name]) for name in used}

    def _meaning(self, value: Any) -> Any:
        if isinstance(value, words.Fact):
            return self._done[value]
        if not isinstance(value, Function):
            return value
        if value in self._done or self._follow(value):
            return self(value)
        return value


def is_ours(function: Callable[..., Any]) -> bool:
    """Whether a function is an algorithm's or a driver's, written in words."""
    layers = ("sash.kernel", "sash.memory", "sash.swag", "sash.plan", "sash.engine")
    return (function.__module__ or "").startswith(layers)


class From:
    """The cells of a column from one on."""

    def __init__(self, part: Any, first: int) -> None:
        self._part, self._first = part, first

    def __getitem__(self, i: int) -> Any:
        return self._part[self._first + i]

    def __setitem__(self, i: int, v: Any) -> None:
        self._part[self._first + i] = v


def put_plain(part: Any, i: int, v: Any) -> Any:
    """put, as plain Python."""
    part[i] = v
    return v


def move_plain(column: Any, to: int, start: int, n: int) -> None:
    """move, as plain Python: NumPy, lists and memoryviews all allow an overlap."""
    cells = getattr(column, "array", column)
    cells[to : to + n] = cells[start : start + n]


def plain_meanings(monoid: Monoid) -> dict[Any, Any]:
    """The words as plain Python over `monoid`, its partials in anything indexed."""
    identity, lift = monoid.identity, monoid.lift
    return {
        words.combine: monoid.combine,
        words.inverse: monoid.inverse,
        words.one: lambda q: identity,
        words.WIDE: isinstance(identity, tuple) and len(identity) > 2,
        words.DIVIDES: False,
        words.get: operator.getitem,
        words.get_small: operator.getitem,
        words.magnitude: lambda v: 0,  # Python's integers never overflow
        words.put: put_plain,
        words.straight: From,
        words.straight_run: lambda part, i: len(part) - i % len(part),
        words.move: move_plain,
        words.numbers: lambda address: address,
        words.prefetch: lambda column, i: None,
        words.below: lambda column, i, x: sum(column[i + k] < x for k in range(words.BELOW)),
        words.lowest_bit: lambda x: (x & -x).bit_length() - 1,
        words.highest_bit: lambda x: x.bit_length() - 1,
        words.hold: lambda q, place, v: v,
        words.pick: lambda mask, a, b: a if mask else b,
        words.lift: lambda q, x: lift(x),
        words.lower: monoid.lower,
        words.item: operator.getitem,
        words.cycles: time.perf_counter_ns,
        words.give: operator.setitem,
        words.attach: lambda memory: memory,
    }


def bind_plain(monoid: Monoid, steps: Mapping[Any, Callable[..., Any]]) -> Binder:
    """A binder for plain Python; `steps` says what insert, evict, query and size are."""
    binder = Binder(plain_meanings(monoid), is_ours)
    for word, step in steps.items():  # a user's policy is not copied: it may keep a count
        binder.define(word, step)
    return binder
