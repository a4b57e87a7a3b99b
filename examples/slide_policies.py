"""Windows that no system has a word for: slide policies, each a function of (total, old).

`total` is the partial of the whole window, `old` that of its oldest items; the policy says
whether those are to go. The policies are those of the paper that Amortized MTA is from.
"""

from collections.abc import Callable, Iterable
from typing import Any

from sash import Monoid, swag
from sash import monoids as m
from sash.monoids.runs import START, TAIL_START


def show(title: str, window: Any, items: Iterable[Any]) -> None:
    """Insert each item; print the window's size and its answer."""
    print(title)
    for x in items:
        window.insert(x)
        print(f"  {x!s:>8} -> {len(window)} items, {window.query()}")


def sum_at_most(most: int) -> Callable[[Any, Any], bool]:
    """Partials are (sum, newest, maximum). The newest of `old` goes if, with all that is
    younger, it adds up to more."""
    return lambda total, old: total[0] - old[0] + old[1] > most


# (sum, newest, maximum) of numbers that are not negative
LAST = Monoid(
    "maximum of a sum",
    (0, -1, -1),
    lambda x: (x, x, x),
    lambda a, b: (a[0] + b[0], b[1] if b[1] >= 0 else a[1], max(a[2], b[2])),
    lambda v: v[2],
)


def last_hour(total: Any, old: Any) -> bool:
    """Partials are the latest time, in milliseconds."""
    return bool(total - old >= 3_600_000)


def at_most_3(total: Any, old: Any) -> bool:
    """Partials are counts."""
    return bool(total - old >= 3)


def older_than_the_maximum(total: Any, old: Any) -> bool:
    """Partials are maxima: what is older than the maximum is never an answer again."""
    return bool(old < total)


def older_than_the_longest_run(total: Any, old: Any) -> bool:
    """Partials are those of LongestRun. Runs do not overlap: `old` has nothing of the longest
    if its last run began before it."""
    return bool(old[TAIL_START] < total[START])


def main() -> None:
    show(
        "The maximum of the last items that add up to at most 10",
        swag.AMTA(LAST, sum_at_most(10)),
        [2, 2, 3, 3, 4, 11, 1],
    )
    minutes = [0, 10, 50, 61, 65, 200]
    show(
        "The last hour",
        swag.AMTA(m.Max(), last_hour),
        [minute * 60_000 for minute in minutes],
    )
    show("At most 3 items", swag.AMTA(m.Count(), at_most_3), "abcde")
    show(
        "Nothing that is older than the maximum",
        swag.AMTA(m.Max(), older_than_the_maximum),
        [3, 1, 2, 5, 4, 4],
    )
    show(
        "Nothing that is older than the longest increasing run",
        swag.AMTA(m.LongestRun(), older_than_the_longest_run),
        enumerate([5, 3, 1, 2, 4, 0, 6, 7, 8, 9]),
    )


if __name__ == "__main__":
    main()
