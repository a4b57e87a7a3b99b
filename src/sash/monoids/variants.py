"""Variants: the same operation over any objects with nulls, and over numbers alone.

An operation is written once, as a semigroup: `lift`, `combine` and `lower` over at
least one item. `nullable` derives the variant over objects from it, `Monoid` with a
neutral number the typed one; `counted` makes a state that begins with a count (or
a flag) neutral where that is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sash.monoids.monoid import Monoid, same

Typed = Callable[[Any], Monoid | None]


def is_null(x: Any) -> bool:
    """Whether an item is null."""
    return x is None


def has_null(x: Any) -> bool:
    """Whether an item or any of its parts is null."""
    return x is None or (isinstance(x, tuple | list) and any(part is None for part in x))


def nullable(
    name: str,
    lift: Callable[[Any], Any],
    combine: Callable[[Any, Any], Any],
    lower: Callable[[Any], Any] = same,
    *,
    empty: Callable[[], Any] | None = None,
    skips: Callable[[Any], bool] = is_null,
    inverse: Callable[[Any, Any], Any] | None = None,
    commutative: bool = False,
    typed: Typed | None = None,
) -> Monoid:
    """A semigroup as a monoid over objects: None is its identity, nulls are skipped.

    `skips(x)` says which items are null; `empty()` is the answer where there are
    none, else None. `inverse(total, old)` may give None for what is left of nothing.

    >>> longest = nullable("longest", len, max)
    >>> longest.lower(longest.combine(longest.lift(None), longest.lift("ab")))
    2
    >>> longest.lower(longest.lift(None)) is None
    True
    """
    return Monoid(
        name,
        None,
        _skipping(lift, skips),
        _with_identity(combine),
        _or_empty(lower, empty),
        inverse=None if inverse is None else _without(inverse),
        commutative=commutative,
        dtype=object,
        typed=typed,
    )


def _skipping(lift: Callable[[Any], Any], skips: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def lift_known(x: Any) -> Any:
        return None if skips(x) else lift(plain(x))

    return lift_known


def _with_identity(combine: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def combine_known(a: Any, b: Any) -> Any:
        if a is None:
            return b
        return a if b is None else combine(a, b)

    return combine_known


def _or_empty(lower: Callable[[Any], Any], empty: Callable[[], Any] | None) -> Callable[[Any], Any]:
    def lower_known(v: Any) -> Any:
        if v is None:
            return None if empty is None else empty()
        return lower(v)

    return lower_known


def _without(inverse: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def inverse_known(total: Any, old: Any) -> Any:
        return total if old is None else inverse(total, old)

    return inverse_known


def plain(x: Any) -> Any:
    """NumPy's numbers as Python's, which do not overflow."""
    return x.item() if isinstance(x, np.number | np.bool_) else x


def counted(combine: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`combine`, neutral where the first number of a state is zero (or False)."""

    def combine_seen(a: Any, b: Any) -> Any:
        if not a[0]:
            return b
        if not b[0]:
            return a
        return combine(a, b)

    return combine_seen


def where_true(monoid: Monoid, columns: int = 1, instead: int | None = None) -> Monoid:
    """The monoid over items with one part more, whether they count; those that do not are nothing.

    `columns`: how many parts the monoid's own items have. The further part is -1 or 0, as
    `lift_if` takes it; in plain Python also True or False. `instead`: see `lift_if`.

    >>> from sash import monoids as m
    >>> w = where_true(m.Max(dtype="int64"))
    >>> w.combine(w.lift((3, True)), w.lift((9, False)))
    3
    """
    inner, nothing = monoid.lift, monoid.identity
    others = instead if columns == 1 or instead is None else (instead,) * columns

    def lift_number(x: Any) -> Any:
        return lift_if(x[1], inner, x[0], nothing, others)

    def lift_tuple(x: Any) -> Any:
        return lift_if(x[columns], inner, x[:columns], nothing, others)

    return monoid.with_(lift=lift_number if columns == 1 else lift_tuple, typed=None)


def lift_if(passes: Any, lift: Callable[[Any], Any], x: Any, nothing: Any, instead: Any) -> Any:
    """The partial of an item that passes, and nothing of another one.

    Compiled code calls `lift` for every item, and takes the bits of its result or of nothing
    without a branch, which would be guessed wrong as often as items pass by chance
    (`sash.kernel.choices`). It calls it with `instead` in the place of an item that does not pass,
    at which `lift` does not raise; or with the item where that is None, as it never raises.
    `passes` is -1 or 0 there: all bits or none.
    """
    return lift(x) if passes else nothing


WIDE = {kind: np.dtype(wide) for kind, wide in (("b", "?"), ("i", "i8"), ("u", "i8"), ("f", "f8"))}


def number(dtype: Any) -> np.dtype | None:
    """The dtype in which a state keeps numbers of `dtype`: bool, int64 or float64, else None.

    Those are the numbers that plain Python and compiled code share. Numbers of 64 bits
    without a sign do not fit: they run as objects, exactly.

    >>> number("int32"), number("float32"), number("U5"), number("uint64")
    (dtype('int64'), dtype('float64'), None, None)
    """
    if isinstance(dtype, tuple | list):
        return None
    found = np.dtype(dtype)
    fits = found.itemsize <= 8 and found not in (np.uint64, np.float16)
    return WIDE.get(found.kind) if fits else None


def for_numbers(variant: Callable[[np.dtype], Monoid | None]) -> Typed:
    """`typed` of a monoid over numbers, from a function of the dtype that keeps them."""

    def typed(dtype: Any) -> Monoid | None:
        found = number(dtype)
        return None if found is None else variant(found)

    return typed


def for_pairs(variant: Callable[[np.dtype, np.dtype], Monoid | None]) -> Typed:
    """`typed` of a monoid over pairs of numbers, from a function of both dtypes."""

    def typed(dtype: Any) -> Monoid | None:
        if not isinstance(dtype, tuple | list) or len(dtype) != 2:
            return None
        first, second = number(dtype[0]), number(dtype[1])
        return None if first is None or second is None else variant(first, second)

    return typed


def zero(dtype: np.dtype) -> Any:
    """Zero (or False) as plain Python has it, to stand where nothing was seen."""
    return dtype.type(0).item()


def lowest(dtype: np.dtype) -> Any:
    """The least value of a dtype: neutral for the larger of two."""
    if dtype.kind == "f":
        return -np.inf
    return False if dtype.kind == "b" else int(np.iinfo(dtype).min)


def highest(dtype: np.dtype) -> Any:
    """The greatest value of a dtype, NaN for floats: neutral for the smaller of two."""
    if dtype.kind == "f":
        return np.nan
    return True if dtype.kind == "b" else int(np.iinfo(dtype).max)
