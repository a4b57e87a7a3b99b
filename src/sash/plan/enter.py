"""Enter: a plan's window, and the loops of `sash.plan.drivers` over it, plain or compiled."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from sash.kernel.answers import Answers
from sash.kernel.cursors import entered, left, places
from sash.monoids.monoid import Monoid
from sash.swag.registry import ALGORITHMS
from sash.swag.window import addresses, rows


class Slices:
    """An in-order window of slices, numbered from 0 through all that happens to it."""

    def __init__(self, monoid: Monoid, algorithm: str, compiled: bool | None = None) -> None:
        cls = _with_live(ALGORITHMS[algorithm])
        self._window: Any = cls(monoid, compiled=compiled)
        self._place = places(cls.cursors) + cls.scratch - 1

    @property
    def first(self) -> int:
        """The number of the oldest slice that is not evicted."""
        return int(self._window._at.f)

    @property
    def next(self) -> int:
        """The number of the next slice."""
        return int(self._window._at.e)

    def columns(self, items: Any, n: int) -> Any:
        """The items as arrays, if they run compiled; an empty window is typed for them first.

        Before `reserve`: a window that is typed begins anew.
        """
        if n:
            return self._window._columns(items)
        kinds = self._window._inputs
        return None if kinds is None else tuple(np.empty(0, kind) for kind in kinds)

    def reserve(self, most: int) -> None:
        """Make room for so many slices at once."""
        room, at = self._window._room, self._window._at
        most = max(most, len(self._window)) + 1
        if hasattr(room, "reserve_ring"):
            room.reserve_ring(at, most)
        else:
            room.reserve(at, most)

    def slide(self, items: Any, size: int) -> Any:
        """Insert each item; after each, the answer over the last `size`."""
        return self._window.slide(items, size)

    def enter(
        self, driver: Any, items: Any, columns: Any, n: int, arguments: list[Any], answers: int
    ) -> tuple[Any, Any]:
        """Run a driver over n rows; its answers, and what it gives beside the cursors.

        Arrays among the arguments are columns, which the driver may write to.
        """
        window = self._window
        kernel = window._kernel(driver, columns) if columns is not None else None
        if kernel is None:
            return self._enter_plain(driver, list(rows(items)), n, arguments, answers)
        given = Answers(kernel.answer, answers)
        passed = [x.ctypes.data if isinstance(x, np.ndarray) else x for x in arguments]
        came = kernel.run(
            window._room.memory(), entered(window._at, window._room.held), addresses(columns), n,
            *passed, self._place, given.address,
        )  # fmt: skip
        at, beside = _apart(came)
        window._at = left(at, window._room.held)
        return given.result(), beside

    def _enter_plain(
        self, driver: Any, items: list[Any], n: int, arguments: list[Any], answers: int
    ) -> tuple[Any, Any]:
        window, out = self._window, [None] * answers
        passed = [x.tolist() if isinstance(x, np.ndarray) else x for x in arguments]
        came = window._plain(driver)(window._q, window._at, items, n, *passed, self._place, out)
        window._at, beside = _apart(came)
        for column, changed in zip(arguments, passed, strict=True):
            if isinstance(column, np.ndarray):
                column[:] = changed
        return out, beside


def _apart(came: Any) -> tuple[Any, Any]:
    """The cursors, and what came beside them."""
    return (came, None) if hasattr(came, "_fields") else came


@functools.cache
def _with_live(cls: Any) -> Any:
    """The algorithm with one more place, for the slice in progress."""
    return type(cls.__name__, (cls,), {"scratch": cls.scratch + 1, "__doc__": cls.__doc__})
