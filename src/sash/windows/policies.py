"""Checks of a slide policy before it is used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from sash.monoids.monoid import Monoid
from sash.windows.frames import Policy


class NotMonotone(NamedTuple):
    """A policy that evicts `true_of`, the older rows of `window`, but not its part `false_of`."""

    window: tuple[Any, ...]
    true_of: tuple[Any, ...]
    false_of: tuple[Any, ...]

    def __str__(self) -> str:
        return (
            f"over {list(self.window)} the policy is true of {list(self.true_of)} "
            f"but not of {list(self.false_of)}"
        )


def not_monotone(
    policy: Policy, monoid: Monoid, samples: Iterable[Any], most: int = 64
) -> NotMonotone | None:
    """A counterexample in the windows that end at each of `samples`, or None.

    Only windows of up to `most` rows are tried: O(samples · most) combines.

    >>> from sash.monoids import Monoid
    >>> from sash.windows import policy
    >>> total = Monoid("sum", 0, int, lambda a, b: a + b)
    >>> not_monotone(policy(lambda total, old: total - old >= 10), total, [4, 3, 9, 2])
    >>> print(not_monotone(policy(lambda total, old: old == 7), total, [4, 3, 9]))
    over [4, 3] the policy is true of [4, 3] but not of [4]
    """
    items = list(samples)
    for end in range(1, len(items) + 1):
        window = tuple(items[max(0, end - most) : end])
        prefixes = []
        total = monoid.identity
        for x in window:
            total = monoid.combine(total, monoid.lift(x))
            prefixes.append(total)
        says = [bool(policy.function(total, old)) for old in prefixes]
        for k in range(1, len(says)):
            if says[k] and not says[k - 1]:
                return NotMonotone(window, window[: k + 1], window[:k])
    return None
