"""Windows at work as the papers drive them: each loop is compiled, filling is not timed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.measure import best_of
from sash.swag.in_order import InOrder


def integers(items: int) -> np.ndarray:
    """Random 32-bit integers, the same in every run."""
    return np.random.default_rng(1).integers(0, 1 << 20, items, np.int32)


def doubles(items: int) -> np.ndarray:
    """Random 64-bit floats, the same in every run."""
    return np.random.default_rng(1).random(items) + 0.5


class Following:
    """A window that follows bounds: for each answer, evictions, then insertions, then a query.

    `lo` and `hi` are the bounds of each answer, from where the filled window begins; each
    `run` goes on where the last one ended. Moving the bounds on costs about a nanosecond an
    answer, for all algorithms alike.
    """

    def __init__(
        self, window: InOrder, xs: Any, lo: np.ndarray, hi: np.ndarray, filled: int
    ) -> None:
        self._window, self._xs, self._filled = window, xs, filled
        self._lo, self._hi = lo.copy(), hi.copy()
        self._longest = int((hi - lo).max())
        self.items = int(hi[-1]) - filled
        self._step = self.items
        zero, full = np.zeros(1, np.int64), np.full(1, filled)
        self._window.follow(resized(xs, filled), 0, zero, full, max(filled, self._longest))
        self._out: dict[np.dtype, np.ndarray] = {}

    def run(self) -> None:
        """Follow the bounds once."""
        base = int(self._hi[-1]) - self.items
        self._window.follow(self._xs, base, self._lo, self._hi, self._longest, self._room)
        self._lo += self._step
        self._hi += self._step

    def _room(self, dtype: np.dtype, n: int) -> np.ndarray:
        """Memory for the answers, made once: fresh memory costs about as much as the work."""
        if dtype not in self._out:
            self._out[dtype] = np.empty(n, dtype)
        return self._out[dtype]


def sliding(algorithm: type[InOrder], monoid: Any, xs: Any, n: int, m: int = 1) -> Following:
    """A window of n items that slides by m items at a time."""
    hi = n + m * np.arange(1, rows(xs) // m + 1)
    return Following(algorithm(monoid.of(kind(xs))), xs, hi - n, hi, n)


def nanoseconds(runs: Mapping[str, Following], repeat: int) -> dict[str, float]:
    """Nanoseconds an item, the best of several runs taken in turns, after one to warm up."""
    for one in runs.values():
        one.run()
    best = best_of({name: one.run for name, one in runs.items()}, repeat)
    return {name: seconds * 1e9 / runs[name].items for name, seconds in best.items()}


def rows(xs: Any) -> int:
    return len(xs[0]) if isinstance(xs, tuple) else len(xs)


def kind(xs: Any) -> Any:
    """The types of the columns of items, as monoids take them."""
    return tuple(x.dtype for x in xs) if isinstance(xs, tuple) else xs.dtype


def resized(xs: Any, n: int) -> Any:
    """n items: the first ones, or all of them again and again."""
    if isinstance(xs, tuple):
        return tuple(np.resize(x, n) for x in xs)
    return np.resize(xs, n)


def oscillating(algorithm: type[InOrder], monoid: Any, xs: Any, n: int) -> Following:
    """A window whose capacity goes from n to 2n and back, with a query after each insertion."""
    lo, hi = oscillation(n, rows(xs))
    return Following(algorithm(monoid.of(kind(xs))), xs, lo, hi, n + 1)


def oscillation(n: int, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of windows that go from n + 1 items to n / 2 - 1, at once, and back one by one.

    So a capacity that doubles when it is full and halves below a quarter goes from 2n to n and
    back in each turn.
    """
    turn = n // 2 + 2
    row = np.arange(turn * max(1, items // turn))
    return (row // turn + 1) * turn, n + 2 + row
