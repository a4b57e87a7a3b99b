"""Panes, Pairs and Cutty: the FlatFIT paper's figures 1 to 3, and what slices must be."""

from hypothesis import given
from hypothesis import strategies as st

from sash.plan.query import Periodic
from sash.plan.slicing import TECHNIQUES, Slicing, cutty, pairs, panes, slices_a_window, union


@st.composite
def windows(draw: st.DrawFn, by: str | None = None) -> Periodic:
    by = by or draw(st.sampled_from(["count", "time"]))
    slide = draw(st.integers(1, 12))
    size = slide + draw(st.integers(0, 30))
    if by == "count":
        return Periodic(size, slide)
    closed = draw(st.sampled_from(["left", "right", "both", "neither"] if size > 1 else ["left"]))
    return Periodic(size, slide, "time", draw(st.integers(-20, 20)), closed)  # type: ignore[arg-type]


def edges(slicing: Slicing, lo: int, hi: int) -> list[int]:
    return [t for t in range(lo, hi) if t % slicing.period in slicing.edges]


def test_figure_1_panes() -> None:
    """A window of 4 panes; each pane is part of 4 final aggregations."""
    window = Periodic(size=8, slide=2)
    cuts = panes(window)
    assert cuts.lengths == (2,)
    assert slices_a_window(window, cuts) == 8 // 2
    pane = range(4, 6)  # P5 of the figure, say
    uses = [f for f in range(2, 40, 2) if f - 8 <= pane[0] and pane[-1] < f]
    assert uses == [6, 8, 10, 12]


def test_panes_where_the_slide_does_not_divide_the_range() -> None:
    window = Periodic(size=9, slide=6)
    assert panes(window).lengths == (3, 3)
    assert slices_a_window(window, panes(window)) == 9 // 3


def test_figure_2_pairs() -> None:
    """Two fragments, f1 = range % slide and f2 = slide - f1; a window ends with an f1.

    The paper says that answers are due after f2; but q pairs and one f1 make up a range,
    so it is the fragment of length range % slide that a window ends with.
    """
    window = Periodic(size=7, slide=5)
    f1, f2 = 7 % 5, 5 - 7 % 5
    assert pairs(window).lengths == (f2, f1)
    assert pairs(window).edges == (0, 3)  # from an end (0), f2 = 3 to a begin, f1 = 2 to an end
    assert slices_a_window(window, pairs(window)) == 2 * (7 // 5) + 1
    assert slices_a_window(window, panes(window)) == 7  # twice as many and more
    assert pairs(Periodic(8, 4)) == Slicing(4, (0,))


def test_figure_3_cutty() -> None:
    """Slices begin where windows begin; half as many as Pairs needs."""
    window = Periodic(size=7, slide=5)
    assert cutty(window).lengths == (5,)
    assert slices_a_window(window, cutty(window)) == 7 // 5 + 1


@given(windows())
def test_no_window_begins_inside_a_slice_and_none_ends_inside_but_for_cutty(w: Periodic) -> None:
    for name, technique in TECHNIQUES.items():
        cuts = technique(w)
        assert sum(cuts.lengths) == cuts.period == w.slide
        cut_at = edges(cuts, -100, 200)
        fired = [f for f in range(50, 100) if f % w.slide == w.fires]
        for f in fired:
            assert f - w.reach in cut_at
            assert name == "cutty" or f in cut_at
            assert cuts.count(f - w.reach, f) == sum(f - w.reach <= e < f for e in cut_at)


@given(windows("time"))
def test_a_window_is_what_the_frame_says(w: Periodic) -> None:
    fired = next(f for f in range(100, 200) if f % w.slide == w.fires)
    start, end = w.bounds(fired)
    assert (start - w.offset) % w.slide == 0
    assert end - start == w.size
    inside = range(fired - w.reach, fired)
    assert (start in inside) == (w.closed in ("left", "both"))
    assert (end in inside) == (w.closed in ("right", "both"))
    assert (start + 1 in inside) or w.reach == 0 or w.size == 1


@given(st.lists(windows("time"), min_size=1, max_size=4))
def test_a_union_has_all_edges_and_no_other(several: list[Periodic]) -> None:
    parts = [pairs(w) for w in several]
    expected = sorted(set().union(*(edges(part, -500, 500) for part in parts)))
    assert edges(union(parts), -500, 500) == expected
