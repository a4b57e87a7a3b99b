"""What an error is about: an output, a key, the time, a history; as data beside the words.

error.about.role, error.about.name, error.about.of_spine
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeVar

Role = Literal["output", "key", "time", "history", "cut"]
Problem = TypeVar("Problem", bound=Exception)


class About(NamedTuple):
    """What an error is about; `name` is the output's, or the column's.

    `of_spine`: the column is one of the spine's, in a call with `at`.
    """

    role: Role
    name: str
    of_spine: bool = False

    def __str__(self) -> str:
        """How an error names the part of the call that is wrong."""
        where = {"key": "by", "time": "time"}.get(self.role, self.name)
        return f"{where}, of the spine" if self.of_spine else where


def concerning(problem: Problem, subject: About) -> Problem:
    """The error with what it is about, unless it has that already.

    >>> about_of(concerning(ValueError("hi: too long"), About("output", "hi")))
    About(role='output', name='hi', of_spine=False)
    """
    if about_of(problem) is None:
        problem.about = subject  # type: ignore[attr-defined]
    return problem


def about_of(problem: BaseException) -> About | None:
    """What an error is about, if it is about a part of a definition."""
    return getattr(problem, "about", None)


@contextlib.contextmanager
def about(role: Role, name: str, of_spine: bool = False) -> Iterator[None]:
    """Errors of the block carry what they are about, unless they do already."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as problem:
        concerning(problem, About(role, name, of_spine))
        raise
