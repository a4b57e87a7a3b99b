"""What users write becomes the right frame, and what makes no sense is refused by name."""

from datetime import timedelta

import numpy as np
import pytest

from sash import windows as w
from sash.windows import Duration, Range, Rows, Sliding, Tumbling

HOUR = Duration.of("1 h")


def test_rows() -> None:
    assert w.rows(1) == Rows(0, 0)
    assert w.rows(np.int64(3)) == Rows(2, 0)
    assert w.rows_between(-2, 5) == Rows(2, 5)
    assert w.rows_between(1, 3) == Rows(-1, 3)
    assert w.rows_between(None, 0) == w.rows_between(-(2**63), 0) == Rows(None, 0)


def test_ranges() -> None:
    assert w.range_between(-10, 0) == Range(10, 0)
    assert w.range_between(-1.5, None) == Range(1.5, None)
    assert w.range_between("-1 hour", 0) == Range(HOUR, Duration(0))
    assert w.range_between(0, timedelta(hours=1)) == Range(Duration(0), HOUR)
    assert w.range_between("1 hour preceding", "1 hour following") == Range(HOUR, HOUR)
    assert w.range_between("unbounded preceding", "current row") == Range(None, Duration(0))
    assert w.range_between("5 preceding", 0) == Range(5, 0)


def test_as_frame() -> None:
    assert w.as_frame("1 hour") == Range(HOUR, Duration(0), "both")
    assert w.as_frame(timedelta(hours=1), closed="right") == Range(HOUR, Duration(0), "right")
    assert w.as_frame(w.rows(2)) == w.rows(2)
    assert w.as_frame(w.range_between(-5, 0), closed="left") == Range(5, 0, "left")
    assert w.as_frame(np.timedelta64(1, "h")) == w.as_frame("1h")


def test_periodic() -> None:
    assert w.sliding("1 h", "1 h", "1 h") == Sliding(HOUR, HOUR, HOUR)
    assert w.tumbling(10) == Tumbling(10, 10, 0)
    assert w.sliding(10, 3, closed="both").closed == "both"


@pytest.mark.parametrize(
    ("define", "says"),
    [
        (lambda: w.rows(0), "n must be at least 1"),
        (lambda: w.rows(1.5), "n must be a whole number"),
        (lambda: w.rows(True), "n must be a whole number"),
        (lambda: w.rows_between(2, -2), "start=2 comes after end=-2"),
        (lambda: w.rows_between(2**63, 0), "start.*wrong side"),
        (lambda: w.rows_between("a", 0), "start must be a whole"),
        (lambda: w.range_between("1 hour", 0), "start='1 hour' comes after.*negative"),
        (lambda: w.range_between(0, "unbounded preceding"), "end.*wrong side"),
        (lambda: w.range_between(-5, "1 hour"), "one has a unit"),
        (lambda: w.range_between(float("nan"), 0), "start is NaN"),
        (lambda: w.range_between([], 0), "start must be"),
        (lambda: w.session(None), "gap is missing"),
        (lambda: w.session("0 s"), "gap must be positive"),
        (lambda: w.session("-1 s"), "gap must be positive"),
        (lambda: w.session(float("inf")), "gap must be positive and finite"),
        (lambda: w.delta(3, 1), "column must be"),
        (lambda: w.delta("km", -1), "d must be"),
        (lambda: w.delta("km", None), "d must be"),
        (lambda: w.until(3), "predicate must be a function"),
        (lambda: w.until(lambda a, b: True), "predicate must take 1 argument"),
        (lambda: w.until("done", "other"), "predicate must be a function"),
        (lambda: w.policy(lambda total: True), "function must take 2 arguments"),
        (lambda: w.policy("big"), "function must be a function"),
        (lambda: w.sliding("1 h", "2 h"), "the slide, 2 hours, is longer than the size, 1 hour"),
        (lambda: w.sliding("1 h", "0 s"), "slide must be positive"),
        (lambda: w.sliding("-1 h", "1 s"), "size must be positive"),
        (lambda: w.sliding("1 h", 5), "must all be durations"),
        (lambda: w.tumbling("1 month"), "size='1 month': months"),
        (lambda: w.as_frame("0 s"), "frame must be longer than nothing"),
        (lambda: w.as_frame("-1 h"), "frame must be longer than nothing"),
        (lambda: w.as_frame(5), "rows\\(5\\) for rows"),
        (lambda: w.as_frame(object()), "is not a frame"),
        (lambda: w.as_frame("1 h", closed="up"), "closed must be one of"),
        (lambda: w.as_frame(w.rows(3), closed="left"), "closed='left' has no meaning"),
    ],
)
def test_refused(define, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises((ValueError, TypeError), match=says):
        define()


@pytest.mark.parametrize(
    ("frame", "by", "following", "duration", "text"),
    [
        (w.rows(3), "count", False, None, "the last 3 rows"),
        (w.rows_between(-1, 1), "count", True, None, "rows from 1 before to 1 after"),
        (w.as_frame("1 h"), "time", False, True, "the last 1 hour"),
        (w.as_frame("1 h", "left"), "time", False, True, "the last 1 hour, closed left"),
        (w.range_between(-5, 5), "time", True, False, "times from 5 before to 5 after"),
        (w.range_between(0, 5, "right"), "time", True, False,
         "times from the current row to 5 after, closed right"),
        (w.range_between(2, 5), "time", True, False, "times from 2 after to 5 after"),
        (w.range_between(None, 0), "time", False, None,
         "times from the first to the current row"),
        (w.session("1 h"), "time", False, True, "the session so far, gap 1 hour"),
        (w.delta("km", 2), "content", False, None, "km within 2 of the newest"),
        (w.tumbling(10), "time", False, False, "each 10"),
        (w.sliding("1 h", "1 min"), "time", False, True, "1 hour every 1 minute"),
        (w.lifetime(), "time", False, None, "all rows so far"),
    ],
)  # fmt: skip
def test_frames_describe_themselves(frame, by, following, duration, text) -> None:  # type: ignore[no-untyped-def]
    assert frame.by == by
    assert frame.needs_following is following
    assert frame.needs_duration is duration
    assert str(frame) == text
