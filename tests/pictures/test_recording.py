"""Recordings: they are of the real algorithms, and every partial is its rows combined."""

from typing import Any

import pytest

import sash
from sash import monoids as m
from sash import swag
from sash.pictures.recording import Recorder, Recording, said
from sash.testing.counting import counting

SIZE = 5
NUMBERS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7]
LETTERS = list("abcdefghijklmn")


def case(name: str, commutes: bool) -> tuple[Any, list[Any]]:
    if name == "SubtractOnEvict":
        return (m.Sum(dtype="int64"), NUMBERS) if commutes else (m.Count(), LETTERS)
    return (m.Max(), NUMBERS) if commutes else (m.Concat(), LETTERS)


def folded(monoid: Any, values: list[Any]) -> Any:
    total = monoid.identity
    for value in values:
        total = monoid.combine(total, monoid.lift(value))
    return total


@pytest.mark.parametrize("commutes", [True, False], ids=["commutes", "does not commute"])
@pytest.mark.parametrize("name", swag.ALGORITHMS)
def test_answers_windows_and_partials(name: str, commutes: bool) -> None:
    monoid, values = case(name, commutes)
    recording = sash.show(swag.ALGORITHMS[name](monoid), values, size=SIZE).recordings[0]
    answers = [step.answer for step in recording.steps if step.answer is not None]
    windows = [values[max(0, i + 1 - SIZE) : i + 1] for i in range(len(values))]
    assert answers == [said(monoid.lower(folded(monoid, window))) for window in windows]
    for step in recording.steps:
        assert list(step.window) == list(range(step.arrived))[step.arrived - len(step.window) :]
        for partial in [part.partial for part in step.parts] + [c.result for c in step.combines]:
            in_order = [values[row] for row in partial.rows]
            assert partial.value == folded(monoid, in_order), (step.call, partial)
    assert any(step.parts for step in recording.steps)


@pytest.mark.parametrize("name", swag.ALGORITHMS)
def test_combines_are_those_of_the_algorithm(name: str) -> None:
    monoid, values = case(name, commutes=True)
    recording = sash.show(swag.ALGORITHMS[name](monoid), values, size=SIZE).recordings[0]
    counted, counter = counting(monoid)
    window: Any = swag.ALGORITHMS[name](counted)
    for i, value in enumerate(values):
        is_tree = name == "FiBA"
        if not is_tree and len(window) == SIZE:
            window.evict()
        window.insert(*((i, value) if is_tree else (value,)))
        if len(window) > SIZE:
            window.evict()
        window.query()
    combines = [c for step in recording.steps for c in step.combines]
    assert len([c for c in combines if not c.is_inverse]) == counter.combines
    assert len([c for c in combines if c.is_inverse]) == counter.inverses


@pytest.mark.parametrize("name", sorted(set(swag.ALGORITHMS) - {"Recalc", "FlatFIT", "FiBA"}))
def test_what_is_kept_covers_the_window(name: str) -> None:
    """Each row of the window is in some partial that is kept, at every step."""
    monoid, values = case(name, commutes=True)
    for step in sash.show(swag.ALGORITHMS[name](monoid), values, size=SIZE).recordings[0].steps:
        kept = {row for part in step.parts for row in part.partial.rows}
        assert set(step.window) <= kept, step.call


def test_a_tree_with_late_rows_and_bulks() -> None:
    picture = sash.show(swag.FiBA(m.Concat(), min_arity=2))
    picture.bulk_insert(range(0, 40, 2), [chr(97 + i) for i in range(20)])
    picture.insert(21, "LATE")
    assert picture.query() == "abcdefghijkLATElmnopqrst"
    picture.bulk_evict(9)
    assert picture.query() == "fghijkLATElmnopqrst"
    assert picture.range_query(12, 17) == "ghi"
    steps = picture.recordings[0].steps
    calls = ["bulk_insert", "insert", "query", "bulk_evict", "query", "range_query"]
    assert [step.call.partition("(")[0] for step in steps] == calls
    for step in steps:
        entries = [row for node in step.tree for _, partial in node.entries for row in partial.rows]
        assert sorted(entries) == sorted(step.window)
        assert {node.side for node in step.tree if node.level == 0} >= {"left", "right"}
    assert steps[1].combines, "the late row is combined on its way up"
    drawn = picture.recordings[0].json()
    assert drawn["ranks"][20] == 11, "the late row stands where its time is"


def test_a_policy_and_removals() -> None:
    picture = sash.show(swag.AMTA(m.Max(), policy=lambda total, old: old < total), [3, 1, 5, 4, 2])
    assert [len(step.window) for step in picture.recordings[0].steps if step.answer] == [
        1,
        2,
        1,
        2,
        3,
    ]
    removing = Recorder(swag.Reactive(m.Concat()))
    removing.insert_many("abcde")
    removing.remove(1, 3)
    assert removing.query() == "ace"
    assert removing.recording.steps[-1].window == (0, 2, 4)


def test_what_cannot_be_shown() -> None:
    full = swag.DABALite(m.Max())
    full.insert(3)
    with pytest.raises(ValueError, match="begins with an empty window, but this one has 1 items"):
        sash.show(full, [1])
    with pytest.raises(TypeError, match=r"show takes an empty window of sash.swag.*not int"):
        sash.show(3, [1])
    with pytest.raises(ValueError, match="size"):
        sash.show(swag.DABALite(m.Max()), [1], size=0)
    with pytest.raises(TypeError, match="times are for FiBA"):
        sash.show(swag.DABALite(m.Max()), [1], times=[1])
    with pytest.raises(ValueError, match="2 times for 1 values"):
        sash.show(swag.FiBA(m.Max()), [1], times=[1, 2])
    with pytest.raises(TypeError, match=r"hi are for sash.windowed"):
        sash.show(swag.DABALite(m.Max()), [1], hi=sash.functions.max("x").over("1 hour"))
    with pytest.raises(AttributeError, match="no attribute 'bulk_evict'"):
        sash.show(swag.DABALite(m.Max())).bulk_evict(3)


def test_one_file_that_ends_no_script(tmp_path: Any) -> None:
    nasty = "</script><b>"
    picture = sash.show(swag.TwoStacks(m.Last()), [nasty, None, float("nan"), "ünïcode"], size=2)
    page = picture.save(tmp_path / "window.html").read_text(encoding="utf-8")
    assert page.count("</script>") == 2
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "srcdoc=" in picture._repr_html_()
    assert picture.recordings[0].values == ["</script><b>", "null", "NaN", "ünïcode"]
    assert isinstance(picture.recordings[0], Recording)
