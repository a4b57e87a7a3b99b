"""`follow`: answers over windows whose bounds are known, in calls of any size."""

from __future__ import annotations

from functools import reduce
from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, swag
from sash import monoids as m
from sash.kernel.words import EVEN
from sash.testing import counting
from tests.conformance.cases import Case, affine, bits, int_sum, small_float, small_int, words

SHAPES = {  # how far windows reach back and ahead of row i, at most, and how often they jump
    "short": (3, 1, 0.0),
    "around": (20, 15, 0.0),
    "long": (400, 0, 0.0),
    "gaps": (12, 2, 0.05),
    "empty": (2, -1, 0.02),
    "even": (30, -1, 0.02),
}


def bounds(random: Random, shape: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that only grow; some windows are empty, some have nothing of the one before."""
    back, ahead, jumps = SHAPES[shape]
    if shape == "even":
        return even_bounds(random, back, jumps, n)
    lo, hi, a, b = [], [], 0, 0
    for i in range(n):
        a = max(a, i - random.randint(back // 2, back))
        if random.random() < jumps:
            a = max(a, b, i)
        b = min(n, max(b, a, i + 1 + random.randint(min(0, ahead), ahead)))
        lo.append(min(a, n))
        hi.append(max(lo[-1], b))
    return np.array(lo, np.int64), np.array(hi, np.int64)


def even_bounds(random: Random, back: int, jumps: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that move by one row or, seldom, stay; where windows jump, the next key begins."""
    lo, hi, a, b = [], [], 0, 0
    for i in range(n):
        if random.random() < jumps:
            a = b = i
        b = min(b + (random.random() > 0.05), i + 1)
        a = min(max(a, min(b - back, a + 1)), b)
        lo.append(a)
        hi.append(b)
    return np.array(lo, np.int64), np.array(hi, np.int64)


def follow(
    window: Any, xs: Any, lo: np.ndarray, hi: np.ndarray, random: Random, most: int,
    shape: int = 0,
) -> list[Any]:  # fmt: skip
    """The answers of calls for up to `most` rows, each given only what no call has reached."""
    answers: list[Any] = []
    while len(answers) < len(lo):
        rows = slice(len(answers), len(answers) + random.randint(1, most))
        base = min(window.reached, len(xs) - 1)
        longest = int((hi[rows] - lo[rows]).max())
        found, nulls = window.follow(xs[base:], base, lo[rows], hi[rows], longest, shape=shape)
        assert nulls is None
        answers += found if isinstance(found, list) else found.tolist()
    return answers


def expected(monoid: Monoid, xs: list[Any], lo: np.ndarray, hi: np.ndarray) -> list[Any]:
    lifted = [monoid.lift(x) for x in xs]
    return [
        monoid.lower(reduce(monoid.combine, lifted[a:b], monoid.identity))
        for a, b in zip(lo, hi, strict=True)
    ]


def three() -> Monoid:
    """A state of three numbers that is not commutative: affine maps modulo 97, and how many."""

    def composed(a: Any, b: Any) -> Any:
        return (a[0] + b[0], a[1] * b[1] % 97, (a[2] * b[1] + b[2]) % 97)

    return Monoid("three", (0, 1, 0), lambda x: (1, x % 97, (x * x + 1) % 97), composed)


ALGORITHMS = [
    (swag.TwoStacksLite, Case(three, small_int)),
    (swag.TwoStacksLite, Case(affine, small_int)),
    (swag.TwoStacksLite, Case(words, small_int, compiles=False)),
    (swag.TwoStacksLite, Case(bits, small_int)),
    (swag.TwoStacksLite, Case(m.Max, small_float)),
    (swag.DABALite, Case(affine, small_int)),
    (swag.SubtractOnEvict, Case(int_sum, small_int)),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("algorithm", "case"), ALGORITHMS)
def test_answers_are_those_of_the_windows(
    algorithm: Any, case: Case, compiled: bool, shape: str
) -> None:
    if compiled and not case.compiles:
        pytest.skip("its state is made of objects")
    random, n = Random(shape), 700
    xs = [case.draw(random) for _ in range(n)]
    lo, hi = bounds(random, shape, n)
    wanted = expected(case.make(), xs, lo, hi)
    for most in (1, 40, n):
        window = algorithm(case.make(), compiled=compiled)
        known = EVEN * (shape == "even")
        found = follow(window, np.array(xs) if compiled else xs, lo, hi, random, most, known)
        window.check()
        for i in range(n):
            if lo[i] < hi[i]:  # of an empty one, nothing is said
                assert np.array_equal(found[i], wanted[i]), (most, i, lo[i], hi[i])


@pytest.mark.parametrize("reach", [(-7, 1), (-200, 3), (2, 40)])
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("algorithm", "case"), [*ALGORITHMS, (swag.FiBA, Case(affine, small_int))])
def test_windows_in_step_are_ranges(
    algorithm: Any, case: Case, compiled: bool, reach: tuple[int, int]
) -> None:
    """From the first row whose window lies within the rows, up to the last."""
    if compiled and not case.compiles:
        pytest.skip("its state is made of objects")
    random, n = Random(reach[0]), 700
    xs = [case.draw(random) for _ in range(n)]
    rows = np.arange(n - 50)
    lo, hi = np.maximum(0, rows + reach[0]), rows + reach[1]
    wanted = expected(case.make(), xs, lo, hi)
    window, row = algorithm(case.make(), compiled=compiled), 0
    given, length = np.array(xs) if compiled else xs, reach[1] - reach[0]
    while row < len(rows):
        end = min(len(rows), row + random.randint(1, 150))
        ends: Any = lo[row:end], hi[row:end]
        if row + reach[0] >= 0:
            ends = tuple(range(row + by, end + by) for by in reach)
        base = min(window.reached, n - 1)
        answers, _ = window.follow(given[base:], base, *ends, length, shape=EVEN)
        found = answers if isinstance(answers, list) else answers.tolist()
        for i in range(row, end):
            assert np.array_equal(found[i - row], wanted[i]), (i, lo[i], hi[i])
        row = end
    window.check()


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("step", "length", "n"), [(1, 300, 2500), (100, 504, 200)])
def test_flips_of_several_groups_whether_or_not_the_next_one_has_room(
    step: int, length: int, n: int, compiled: bool
) -> None:
    """Two windows of 504 items leave 16 cells of the ring: some of those between need more."""
    random = Random(step)
    moves = [random.randint(0, 2 * step) for _ in range(n)]
    lo = np.cumsum(moves)
    hi = np.maximum.accumulate(lo + [random.randint(length - 20, length - 10) for _ in range(n)])
    hi = np.minimum(hi, lo + length)
    xs = [small_int(random) for _ in range(int(hi[-1]))]
    wanted = expected(three(), xs, lo, hi)
    for most in (1, n // 3, n):
        window = swag.TwoStacksLite(three(), compiled=compiled)
        given = np.array(xs) if compiled else xs
        assert [tuple(v) for v in follow(window, given, lo, hi, random, most)] == wanted
        window.check()


@pytest.mark.parametrize("most", [1, 40, 5000])
@pytest.mark.parametrize("reach", [1, 2, 10, 300, 4000])
def test_two_stacks_takes_three_combines_per_row_whatever_the_window(reach: int, most: int) -> None:
    """One for a suffix, one for a prefix, one for an answer, in calls of any size."""
    monoid, counter = counting(m.Max())
    n, random = 5000, Random(reach)
    xs = [random.random() for _ in range(n)]
    rows = np.arange(n)
    lo, hi = np.maximum(0, rows + 1 - reach), rows + 1
    assert follow(swag.TwoStacksLite(monoid), xs, lo, hi, random, most) == expected(
        m.Max(), xs, lo, hi
    )
    assert counter.combines <= 3 * n


def test_a_window_that_followed_goes_on_row_by_row() -> None:
    xs = [float(x) for x in range(20)]
    window = swag.TwoStacksLite(m.Sum())
    rows = np.arange(20)
    window.follow(xs, 0, np.maximum(0, rows - 4), rows + 1, 5)
    again = swag.restore(window.snapshot(), m.Sum())
    for each in (window, again):
        assert each.query() == sum(range(15, 20))
        each.insert(100.0)
        each.evict()
        assert (len(each), each.query()) == (5, 100 + sum(range(16, 20)))


@pytest.mark.parametrize("compiled", [True, False])
def test_sums_that_fit_are_given_though_all_items_together_do_not(compiled: bool) -> None:
    large = 2**61
    xs, rows = np.full(100, large), np.arange(100)
    window = swag.SubtractOnEvict(m.Sum(dtype=np.int64), compiled=compiled)
    found, _ = window.follow(
        xs if compiled else xs.tolist(), 0, np.maximum(0, rows - 2), rows + 1, 3
    )
    assert list(found) == [large, 2 * large, *[3 * large] * 98]
    assert window.query() == 3 * large
    window = swag.SubtractOnEvict(m.Sum(dtype=np.int64), compiled=compiled)
    with pytest.raises(OverflowError):  # four of them are too many
        window.follow(xs if compiled else xs.tolist(), 0, np.maximum(0, rows - 3), rows + 1, 4)


def each_plus(a: tuple[int, int, float], b: tuple[int, int, float]) -> tuple[int, int, float]:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@pytest.mark.parametrize("in_step", [True, False])
@pytest.mark.parametrize("large", [5, 2**60, 2**61, -(2**61)])
def test_integers_of_a_users_monoid_overflow_where_they_do_not_fit(
    large: int, in_step: bool
) -> None:
    """Rows are combined several at once, without checks, where integers are small."""
    own = Monoid("own", (0, 0, 0.0), lambda x: (x, 1, 2.0), each_plus)
    xs = np.where(np.arange(1000) % 500 < 400, 7, large)
    rows = np.arange(1000)
    reach = np.full(1000, 3) if in_step else 1 + rows % 3
    lo, hi = np.maximum.accumulate(np.maximum(0, rows + 1 - reach)), rows + 1
    found, _ = swag.TwoStacksLite(own).follow(xs, 0, lo, hi, 3)
    sums = [int(xs[a:b].sum()) for a, b in zip(lo, hi, strict=True)]
    assert [tuple(row) for row in found.tolist()] == [
        (total, b - a, 2.0 * (b - a)) for total, a, b in zip(sums, lo, hi, strict=True)
    ]
    if abs(large) == 2**61:  # five of them do not fit, of either sign
        lo = np.maximum(0, rows - 4)
        with pytest.raises(OverflowError, match=r"a \+ b in each_plus of monoid 'own'"):
            swag.TwoStacksLite(own).follow(xs, 0, lo, hi, 5)


def test_lists_never_grow_beyond_a_window() -> None:
    """Totals of all that came would be quadratic for states that grow, such as lists."""
    lengths = []

    def joined(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
        lengths.append(len(a) + len(b))
        return a + b

    def rest(total: tuple[int, ...], old: tuple[int, ...]) -> tuple[int, ...]:
        return total[len(old) :]

    listed = Monoid("listed", (), lambda x: (x,), joined, inverse=rest, dtype=object)
    hi = np.arange(1, 501)
    lo = np.maximum(0, hi - 7)
    found, _ = swag.SubtractOnEvict(listed).follow(list(range(500)), 0, lo, hi, 7)
    assert found == [tuple(range(a, b)) for a, b in zip(lo, hi, strict=True)]
    assert max(lengths) <= 8
