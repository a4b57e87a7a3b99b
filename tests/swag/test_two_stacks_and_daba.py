"""The traces of the DABA paper's figures 1 to 8, step by step.

Odd figures aggregate maxcount over numbers, even ones any aggregation over letters; the
operations are the same: seven insertions (states A to H), two evictions (I and J), then
insertions (K to P).
"""

from __future__ import annotations

from typing import Any

import pytest

from sash import Monoid, swag
from sash import monoids as m
from sash.swag.two_stacks import agg, val

NUMBERS = [4, 5, 3, 4, 0, 4, 4, None, None, 2, 6, 5, 6, 1, 6]
LETTERS = ["a", "b", "c", "d", "e", "f", "g", None, None, "h", "i", "j", "k", "l", "m"]
STATES = "BCDEFGHIJKLMNOP"
MAXCOUNT = {
    "H": (5, 1),
    "I": (5, 1),
    "J": (4, 3),
    "K": (4, 3),
    "L": (6, 1),
    "O": (6, 2),
    "P": (6, 3),
}


def letters() -> Monoid:
    """Concatenation: what a cell holds can be read off it."""
    return Monoid("letters", "", str, lambda a, b: a + b)


def maxcount() -> Monoid:
    """The paper's maxcount, lowered to both of its parts."""
    return m.MaxCount().with_(lower=lambda v: v)


def after(algorithm: type[swag.Window], monoid: Monoid, items: list[Any], state: str) -> Any:
    """The window in a state of the figures; None among the items is an eviction."""
    window: Any = algorithm(monoid)
    for item in items[: STATES.index(state) + 1]:
        window.evict() if item is None else window.insert(item)
        window.check()
    return window


def cells(window: Any, cell: Any = lambda i: i) -> list[Any]:
    return [window._q.part[cell(i)] for i in range(window._at.f, window._at.e)]


ALL = [swag.TwoStacks, swag.TwoStacksLite, swag.DABA, swag.DABALite]


@pytest.mark.parametrize("algorithm", ALL)
@pytest.mark.parametrize("state", MAXCOUNT)
def test_maxcount_in_each_state(algorithm: type[swag.Window], state: str) -> None:
    assert after(algorithm, maxcount(), NUMBERS, state).query() == MAXCOUNT[state]


@pytest.mark.parametrize("algorithm", ALL)
@pytest.mark.parametrize("state", STATES)
def test_any_aggregation_in_each_state(algorithm: type[swag.Window], state: str) -> None:
    done = LETTERS[: STATES.index(state) + 1]
    items = [x for x in done if x is not None][done.count(None) :]
    assert after(algorithm, letters(), LETTERS, state).query() == "".join(items)


def test_two_stacks_figure_1_state_o_and_p() -> None:
    window = after(swag.TwoStacks, maxcount(), NUMBERS, "O")
    assert [v[0] for v in cells(window, val)] == [3, 4, 0, 4, 4, 2, 6, 5, 6, 1]
    front = [(4, 3), (4, 3), (4, 2), (4, 2), (4, 1)]
    assert cells(window, agg) == [*front, (2, 1), (6, 1), (6, 1), (6, 2), (6, 2)]
    window.insert(6)
    assert cells(window, agg)[-1] == (6, 3)


def test_two_stacks_figure_2_flip() -> None:
    before = after(swag.TwoStacks, letters(), LETTERS, "H")
    assert cells(before, agg) == ["a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg"]
    flipped = after(swag.TwoStacks, letters(), LETTERS, "I")
    assert cells(flipped, agg) == ["bcdefg", "cdefg", "defg", "efg", "fg", "g"]
    assert cells(flipped, val) == list("bcdefg")


def test_two_stacks_lite_figure_3_state_o() -> None:
    window = after(swag.TwoStacksLite, maxcount(), NUMBERS, "O")
    front = [(4, 3), (4, 3), (4, 2), (4, 2), (4, 1)]
    assert cells(window) == [*front, (2, 1), (6, 1), (5, 1), (6, 1), (1, 1)]
    assert window._at.back == (6, 2)


def test_two_stacks_lite_figure_4_flip() -> None:
    flipped = after(swag.TwoStacksLite, letters(), LETTERS, "I")
    assert cells(flipped) == ["bcdefg", "cdefg", "defg", "efg", "fg", "g"]
    assert flipped._at.back == ""
    assert after(swag.TwoStacksLite, letters(), LETTERS, "L")._at.back == "hi"


def relative(window: Any) -> dict[str, int]:
    at = window._at
    return {name: getattr(at, name) - at.f for name in ("l", "r", "a", "b", "e")}


# From the size invariants: after k insertions into an empty window DABA has flipped at
# sizes 2, 4, 8, …; the four cases of fixup follow one another as the paper says.
CURSORS = {
    "B": {"l": 1, "r": 1, "a": 1, "b": 1, "e": 1},  # singleton
    "C": {"l": 1, "r": 1, "a": 1, "b": 2, "e": 2},  # flip, then shrink
    "D": {"l": 2, "r": 2, "a": 2, "b": 2, "e": 3},  # shift
    "E": {"l": 1, "r": 2, "a": 3, "b": 4, "e": 4},  # flip, then shrink
    "F": {"l": 2, "r": 2, "a": 2, "b": 4, "e": 5},  # shrink
    "G": {"l": 3, "r": 3, "a": 3, "b": 4, "e": 6},  # shift
    "H": {"l": 4, "r": 4, "a": 4, "b": 4, "e": 7},  # shift
    "I": {"l": 1, "r": 3, "a": 5, "b": 6, "e": 6},  # eviction: flip, then shrink
    "J": {"l": 1, "r": 2, "a": 3, "b": 5, "e": 5},  # shrink
}


@pytest.mark.parametrize("algorithm", [swag.DABA, swag.DABALite])
@pytest.mark.parametrize("state", CURSORS)
def test_daba_figures_5_to_8_cursors(algorithm: type[swag.Window], state: str) -> None:
    assert relative(after(algorithm, letters(), LETTERS, state)) == CURSORS[state]


def test_daba_figure_6_aggregates() -> None:
    window = after(swag.DABA, letters(), LETTERS, "I")
    assert cells(window, val) == list("bcdefg")
    # b is combined to the end; c, d up to r; e, f from r on; g up to b
    assert cells(window, agg) == ["bcdefg", "cd", "d", "e", "ef", "g"]
    window.evict()  # J: shrink
    assert cells(window, agg) == ["cdefg", "d", "e", "fg", "g"]


def test_daba_lite_figure_8_aggregates() -> None:
    window = after(swag.DABALite, letters(), LETTERS, "I")
    assert cells(window) == ["bcdefg", "cd", "d", "e", "f", "g"]
    assert (window._at.mid, window._at.back) == ("efg", "")
    window.evict()
    assert cells(window) == ["cdefg", "d", "e", "fg", "g"]
    window.insert("h")  # K: shrink, and h on the back list
    assert (window._at.mid, window._at.back) == ("efg", "h")
