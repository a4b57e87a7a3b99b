"""Fold: neighbouring items to one partial each, for slices of rows and for partials of a stream.

Cost    as many combines as items, less one for each partial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sash.kernel.answers import Answers
from sash.kernel.bind import bind_plain
from sash.kernel.compiled import Kernel
from sash.kernel.words import (
    ANSWER,
    InputColumns,
    Memory,
    Outputs,
    Partials,
    Windows,
    attach,
    combine,
    give,
    hold,
    item,
    lift,
    lower,
    numbers,
)
from sash.monoids.monoid import Monoid
from sash.swag.inputs import addresses


class Columns(NamedTuple):
    """Nothing is kept in cells."""

    part: Partials
    held: int


class At(NamedTuple):
    """Nothing is kept from one group to the next."""

    none: int


def fold(
    memory: Memory,
    at: At,
    xs: InputColumns,
    groups: Windows,
    out: Outputs,
) -> At:
    """The items of each group, combined; no group is empty."""
    q, base = attach(memory), groups.base
    begins, ends = numbers(groups.lo), numbers(groups.hi)
    for i in range(groups.n):
        v = hold(q, ANSWER, lift(q, item(xs, begins[i] - base)))
        for place in range(begins[i] + 1, ends[i]):
            v = hold(q, ANSWER, combine(v, lift(q, item(xs, place - base))))
        give(out, i, lower(v))
    return at


class Groups(NamedTuple):
    """Where groups begin and end among items, of which the first has the number `base`."""

    lo: np.ndarray
    hi: np.ndarray
    base: int = 0


def folded(
    kernel: Kernel, columns: Sequence[np.ndarray], groups: Groups, held: Any = None
) -> list[np.ndarray]:
    """The numbers of the partial of each group, a contiguous column each; `kernel`: of `fold`.
    `held`: where partials are vectors, rows for them, as `held_rows` gives."""
    n, memory = len(groups.lo), (0, -1, 0 if held is None else held.ctypes.data)
    out = Answers(kernel.answer, n)
    windows = Windows(groups.base, n, groups.lo.ctypes.data, groups.hi.ctypes.data)
    kernel.run(memory, At(0), addresses(columns), windows, out.address)
    return _leaves(out.values)


def folded_plain(monoid: Monoid, xs: Sequence[Any], groups: Groups) -> list[Any]:
    """The partial of each group, in plain Python."""
    n = len(groups.lo)
    out: list[Any] = [None] * n
    run = bind_plain(monoid, {})(fold)
    windows = Windows(groups.base, n, groups.lo.tolist(), groups.hi.tolist())
    run(None, At(0), xs, windows, out)
    return out


def _leaves(values: np.ndarray) -> list[np.ndarray]:
    """The numbers of partials, a contiguous column each."""
    if values.dtype.names is None:
        return [np.ascontiguousarray(values)]
    return [leaf for name in values.dtype.names for leaf in _leaves(values[name])]
