"""Trials: what is wrong with a user's monoid, found before it runs over all rows.

`check_functions` looks at the functions alone and raises. `try_laws` runs `check_laws` on a few
values of the input, once per monoid and process, and warns: a combine that is not associative
gives answers that depend on how rows are grouped, which no other error would show.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from sash.monoids.laws import check_laws
from sash.monoids.monoid import Monoid

SAMPLES = 3
_tried: set[str] = set()


class LawWarning(RuntimeWarning):
    """A monoid breaks a law on values of the input."""


def check_functions(monoid: Monoid) -> None:
    """TypeError, which names function and monoid, where `combine` or `lower` cannot be right."""
    two = "two partials, combine(older, younger)"
    _check_count(monoid, "combine", monoid.combine, 2, two)
    _check_count(monoid, "lower", monoid.lower, 1, "one partial, lower(partial)")
    if monoid.identity is None:
        return
    try:
        found = monoid.combine(*copy.deepcopy((monoid.identity, monoid.identity)))
    except Exception:  # a law that is broken, or a mistake that its own error tells
        return
    if found is None:
        raise TypeError(
            f"combine of monoid {monoid.name!r} gives None for (identity, identity): it has to "
            "return the combined partial; is a `return` missing?"
        )


def _check_count(
    monoid: Monoid, role: str, function: Callable[..., Any], count: int, takes: str
) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a built-in that does not say
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        names = ", ".join(signature.parameters) or "nothing"
        raise TypeError(
            f"{role} of monoid {monoid.name!r} takes {names}; it has to take {takes}"
        ) from None


def try_laws(monoid: Monoid, samples: Sequence[Any], what: str) -> None:
    """Warn, once per process, where a monoid breaks a law on the first few of `samples`."""
    if not samples or monoid.digest in _tried:
        return
    _tried.add(monoid.digest)
    try:
        found = check_laws(monoid, samples[:SAMPLES])
    except Exception:  # the run over all rows raises it, with the user's own line
        return
    if found is not None and "no answer for no rows" not in found.law:
        warnings.warn(
            f"{what}: monoid {found}. Answers will depend on how rows are grouped: mend it, try it "
            "with sash.testing.check_laws, or turn this check off with sf.apply(…, check=False)",
            LawWarning,
            stacklevel=_frames_of_sash(),
        )


def _frames_of_sash() -> int:
    """How many frames up the user's own code is."""
    frame, found = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("sash."):
        frame, found = frame.f_back, found + 1
    return found
