"""Errors of a definition carry what they are about, and keep it when they are pickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.plan.about import About, about_of

EVENTS = pa.table({"k": [1, 1], "t": [1, 2], "x": [3.0, 4.0], "w": ["a", "b"], "l": [[1], [2]]})
SPINE = pa.table({"k": [1], "at": [2], "when": ["now"]})
TWO = sash.rows(2)


def asked(by: str = "k", time: str = "t", **more: Any) -> Any:
    return sash.windowed(EVENTS, by, time=time, **more)


WRONG: dict[str, tuple[Callable[[], Any], About]] = {
    "no column": (lambda: asked().agg(a=sf.sum("y").over(TWO)), About("output", "a")),
    "of a part": (lambda: asked().agg(a=sf.sum("x").over(TWO) / sf.sum("y").over(TWO)),
                  About("output", "a")),
    "type": (lambda: asked().agg(n=sf.count().over(TWO), a=sf.sum("w").over(TWO)),
             About("output", "a")),
    "type of a part": (lambda: asked().agg(a=1 + sf.sum("w").over(TWO)), About("output", "a")),
    "frame": (lambda: asked().agg(a=sf.sum("x").over("1 hour")), About("output", "a")),
    "no frame": (lambda: asked().agg(a=sf.sum("x")), About("output", "a")),
    "no aggregation": (lambda: asked().agg(a=3), About("output", "a")),
    "algorithm": (lambda: asked(algorithm="SubtractOnEvict").agg(a=sf.max("x").over(TWO)),
                  About("output", "a")),
    "name": (lambda: asked().agg(w=sf.max("x").over(TWO)), About("output", "w")),
    "every": (lambda: asked().every(5).agg(a=sf.max("x").over(TWO)), About("output", "a")),
    "key": (lambda: asked("key").agg(a=sf.max("x").over(TWO)), About("key", "key")),
    "type of a key": (lambda: asked("l").agg(a=sf.max("x").over(TWO)), About("key", "l")),
    "time": (lambda: asked(time="w").agg(a=sf.max("x").over(TWO)), About("time", "w")),
    "spine's key": (lambda: asked().at(SPINE, by="j", time="at").agg(a=sf.max("x").over(TWO)),
                    About("key", "j", of_spine=True)),
    "spine's time": (lambda: asked().at(SPINE, time="when").agg(a=sf.max("x").over(TWO)),
                     About("time", "when", of_spine=True)),
    "at a spine": (lambda: asked().at(SPINE, time="at").agg(
        a=sf.max("x").over(TWO, exclude="ties")),
                   About("output", "a")),
    "a stream": (lambda: sash.stream("k", time="t").agg(
                     a=sf.max("x").over(sash.rows_between(0, None))).feed(EVENTS),
                 About("output", "a")),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_an_error_is_about(name: str) -> None:
    call, subject = WRONG[name]
    with pytest.raises((KeyError, TypeError, ValueError)) as caught:
        call()
    assert about_of(caught.value) == subject
    again = pickle.loads(pickle.dumps(caught.value))
    assert about_of(again) == subject
    assert str(again) == str(caught.value)
    assert "#" not in str(again)  # the names of parts of an expression are nobody's


def test_null_times_are_about_the_time() -> None:
    table = pa.table({"t": [1, None], "x": [1, 2]})
    with pytest.raises(ValueError, match=r"1 null\(s\)") as caught:
        sash.windowed(table, time="t").every(5).agg(a=sf.max("x").over(sash.range_between(-5, 0)))
    assert about_of(caught.value) == About("time", "t")
