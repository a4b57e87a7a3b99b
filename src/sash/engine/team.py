"""Team: threads that work on rows side by side."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")

WORTH_A_THREAD = 1 << 16
"""Rows from which on a further thread is worth its start."""


class Team:
    """A number of threads, for work that does not need Python's lock: kernels, NumPy, Arrow."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def map(self, function: Callable[[A], B], each: Iterable[A]) -> list[B]:
        """The results of the function, in order."""
        return list(map(function, each) if self._pool is None else self._pool.map(function, each))

    def parts(self, n: int) -> list[tuple[int, int]]:
        """Rows 0 to n - 1 in as many parts as there are threads worth their start."""
        count = max(1, min(self.threads, -(-n // WORTH_A_THREAD)))
        return list(itertools.pairwise(n * k // count for k in range(count + 1)))

    def over(self, n: int, function: Callable[[int, int], Any]) -> list[Any]:
        """The results of the function for the rows of each part."""
        return self.map(lambda part: function(*part), self.parts(n))

    def over_bytes(self, n: int, function: Callable[[int, int], Any]) -> list[Any]:
        """The results of the function for the rows of each part, which begins with a row whose
        bit is the first one of its byte."""
        parts = [
            (begin // 8 * 8, end if end == n else end // 8 * 8) for begin, end in self.parts(n)
        ]
        return self.map(lambda part: function(*part), parts)

    def __enter__(self) -> Team:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pool is not None:
            # a function of the user's may take long: Ctrl-C does not wait for its end
            self._pool.shutdown(wait=kind is not KeyboardInterrupt, cancel_futures=True)
