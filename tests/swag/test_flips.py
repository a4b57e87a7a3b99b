"""Windows with a further piece: Two-Stacks Lite combines it before it gives their answers."""

from __future__ import annotations

from functools import reduce
from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, swag
from sash.monoids.monoid import same
from sash.swag.coming import Further
from sash.swag.inputs import Asked
from tests.conformance.cases import Case, affine, bits, small_int, words

CASES = [Case(affine, small_int), Case(bits, small_int), Case(words, small_int, compiles=False)]


class Tied:
    """Rows in order of time, many of one time: the windows of each, without some of its peers."""

    def __init__(self, random: Random, n: int, length: int) -> None:
        times = np.sort([random.randrange(n // 2) for _ in range(n)])
        self.rows = np.arange(n)
        self.lo = np.searchsorted(times, times - length, "left")
        self.first = np.searchsorted(times, times, "left")  # of its peers
        self.end = np.searchsorted(times, times, "right")

    def without_ties(self, i: int) -> list[int]:
        return [*range(self.lo[i], self.first[i]), i]

    def without_row(self, i: int) -> list[int]:
        return [*range(self.lo[i], i), *range(i + 1, self.end[i])]

    def peers(self, monoid: Monoid, part: slice, base: int) -> Further:
        """The peers after each row, of those rows that have some."""
        after = self.end[part] - self.rows[part] - 1
        which = np.ascontiguousarray(np.flatnonzero(after > 0)[::-1])
        return Further(monoid, part.start + 1 - base, which, int(after[-1]))


@pytest.mark.parametrize("length", [0, 5, 300])
@pytest.mark.parametrize("without", ["ties", "row"])
@pytest.mark.parametrize(
    ("case", "compiled"),
    [
        pytest.param(case, way, marks=pytest.mark.slow if way and case.make is bits else ())
        for case in CASES
        for way in ((True, False) if case.compiles else (False,))
    ],
)
def test_a_further_piece_is_younger(case: Case, compiled: bool, without: str, length: int) -> None:
    """In calls of any size, of which some end between peers; some windows have no other rows."""
    random, n, monoid = Random(f"{without} {length}"), 600, case.make()
    tied = Tied(random, n, length)
    xs = [case.draw(random) for _ in range(n)]
    rows_of = tied.without_ties if without == "ties" else tied.without_row
    lifted = [monoid.lift(x) for x in xs]
    for most in (1, 50, n):
        window = swag.TwoStacksLite(monoid.with_(lower=same), compiled=compiled)
        given: Any = np.array(xs) if compiled else xs
        start = 0
        while start < n:
            part = slice(start, min(n, start + random.randint(1, most)))
            base = min(window.reached, n - 1)
            hi = tied.first[part] if without == "ties" else tied.rows[part]
            lo = np.minimum(tied.lo[part], hi)
            asked = Asked(base, lo, np.ascontiguousarray(hi), int((hi - lo).max()), 0)
            further = Further(monoid, part.start - base)
            if without == "row":
                further = tied.peers(monoid, part, base)
            found, _ = window.follow_with(given[base:], asked, further)
            for k in range(part.stop - part.start):
                rows = rows_of(part.start + k)
                if rows:  # of an empty one, nothing is said
                    wanted = monoid.lower(reduce(monoid.combine, (lifted[i] for i in rows)))
                    assert np.array_equal(_plain(found[k]), wanted), (most, part.start + k)
            start = part.stop


def _plain(answer: Any) -> Any:
    """An answer as a monoid gives it."""
    return answer.item() if isinstance(answer, np.void) else answer
