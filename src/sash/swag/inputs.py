"""Inputs: what batches of items can be, and how plain and compiled code take them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sash.kernel.words import IN_STEP, Windows
from sash.memory.columns import as_columns
from sash.monoids.monoid import Monoid

WindowEnds = np.ndarray | range
"""One end of some windows, by row number; a range if each is one row after the last."""


class Asked(NamedTuple):
    """The windows of a call of `follow`: rows lo[i] to hi[i] - 1; xs[0] is row `base`."""

    base: int
    lo: WindowEnds
    hi: WindowEnds
    longest: int
    shape: int

    def compiled(self) -> Windows:
        """As a compiled driver takes them."""
        base, lo, hi, _, shape = self
        if isinstance(lo, range) and isinstance(hi, range):
            return Windows(base, len(lo), lo.start, hi.start, IN_STEP)
        assert isinstance(lo, np.ndarray)
        assert isinstance(hi, np.ndarray)
        return Windows(base, len(lo), lo.ctypes.data, hi.ctypes.data, shape)

    def plain(self) -> Windows:
        """As a driver in plain Python takes them."""
        lo, hi = (side if isinstance(side, range) else side.tolist() for side in self[1:3])
        return Windows(self.base, len(lo), lo, hi, self.shape)


def row_numbers(ends: WindowEnds) -> np.ndarray:
    """The ends of windows as an array."""
    return np.arange(ends.start, ends.stop) if isinstance(ends, range) else ends


WORTH_COMPILING = 512
"""A list of fewer items runs as plain Python, unless compiled=True."""


def is_numeric(xs: Any) -> bool:
    """Whether `xs` is an array, a tuple of arrays, or a list of numbers of one type.

    Arrays may be masked: see `has_nulls`.
    """
    if isinstance(xs, np.ndarray):
        return xs.dtype.kind in "biuf"
    if isinstance(xs, tuple):
        return bool(xs) and all(isinstance(x, np.ndarray) and is_numeric(x) for x in xs)
    if isinstance(xs, list):
        return len(set(map(type, xs))) == 1 and type(xs[0]) in (int, float, bool)
    return False


def has_nulls(xs: Any) -> bool:
    """Whether some items are masked. They are None in plain Python; compiled code has no None."""
    if type(xs) is np.ndarray or isinstance(xs, list):
        return False
    columns = xs if isinstance(xs, tuple) else (xs,)
    return any(isinstance(c, np.ma.MaskedArray) and bool(np.ma.is_masked(c)) for c in columns)


def check_null(monoid: Monoid, typed: Monoid) -> None:
    """Refuse a null item in a window over `typed`, the variant of `monoid` for numbers.

    Such a state cannot tell that all its items were null, unless that has the same answer.
    """
    if typed is monoid:
        return
    with contextlib.suppress(Exception):
        if typed.lower(typed.identity) == monoid.lower(monoid.identity):
            return
    raise TypeError(
        f"a null item in a window of {monoid!r} that an array of numbers has typed as {typed!r}, "
        "which has no null: leave null items out, or begin with compiled=False"
    )


def columns_of(xs: Any) -> tuple[np.ndarray, ...] | None:
    """Numbers as compiled code takes them: contiguous, in the machine's byte order, one array for
    each column; None if that cannot be."""
    if type(xs) is np.ndarray and xs.dtype.isnative:
        return as_columns(xs)
    columns = xs if isinstance(xs, tuple) else (xs,)
    if any(isinstance(c, np.ndarray) and not c.dtype.isnative for c in columns):
        columns = tuple(np.asarray(c, np.asarray(c).dtype.newbyteorder("=")) for c in columns)
        return as_columns(columns)
    return as_columns(xs)


def rows(xs: Any) -> Iterable[Any]:
    """The items of `xs` as plain Python values; a tuple of arrays gives tuples."""
    if isinstance(xs, tuple) and xs and isinstance(xs[0], np.ndarray):
        return zip(*(x.tolist() for x in xs), strict=True)
    return xs.tolist() if isinstance(xs, np.ndarray) else xs


def items(xs: Any) -> list[Any]:
    """The items of `xs` by number, as plain Python values."""
    return xs if isinstance(xs, list) else list(rows(xs))


def addresses(columns: Sequence[np.ndarray]) -> tuple[int, ...]:
    """Where each column lies."""
    return tuple(c.ctypes.data for c in columns)


def as_array(answers: list[Any]) -> Any:
    """A NumPy array where all answers are numbers of one type, masked where they are None; else
    the list."""
    if is_numeric(answers):
        return np.array(answers)
    some = [x for x in answers if x is not None]
    if not is_numeric(some):
        return answers
    nulls = [x is None for x in answers]
    return np.ma.array([some[0] if x is None else x for x in answers], mask=nulls)


def check_out(out: np.ndarray | None) -> None:
    """Refuse, before anything is changed, an `out` that cannot be written to."""
    if out is not None and not out.flags.writeable:
        raise ValueError("out is read-only: give an array that can be written to, or none")


def written(answers: Any, out: np.ndarray | None) -> Any:
    """`answers`, in `out` where they are numbers and it is given."""
    if out is None or not isinstance(answers, np.ndarray) or isinstance(answers, np.ma.MaskedArray):
        return answers
    out[...] = answers
    return out
