"""The contract of a window: insert, evict, query, by one thread at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from sash.kernel.answers import Allocate, new_array
from sash.monoids.monoid import Monoid, as_monoid
from sash.stores.encoding import REMEDY
from sash.swag import snapshot
from sash.swag.inputs import WindowEnds
from sash.swag.parts import Part


class Window(ABC):
    """A window over a monoid: what every algorithm can do.

    One thread per window: it has no locks, so that single steps cost little. A call while
    another thread's is under way (or one from inside the monoid's own functions) is a
    RuntimeError, and changes nothing. Windows of several threads share nothing.
    """

    _is_in_use = False

    def __init__(self, monoid: Any, *, compiled: bool | None = None) -> None:
        """`compiled`: True insists on machine code, False on plain Python, None chooses."""
        self.monoid = as_monoid(monoid)
        self._compiled = compiled
        self._adopt(self.monoid, None)

    @abstractmethod
    def _adopt(self, monoid: Monoid, inputs: Any) -> None:
        """Begin with an empty window over `monoid`, typed for `inputs` if they are given."""

    @abstractmethod
    def __len__(self) -> int:
        """How many items are in the window."""

    @abstractmethod
    def query(self) -> Any:
        """The answer over the whole window; an empty one lowers the identity."""

    @abstractmethod
    def follow(
        self,
        xs: Any,
        base: int,
        lo: WindowEnds,
        hi: WindowEnds,
        longest: int,
        allocate: Allocate = new_array,
        shape: int = 0,
    ) -> tuple[Any, Any]:
        """The answers over windows of rows lo[i] to hi[i] - 1, both growing, and which numbers
        of them are null: a column for each number of an answer, or None.

        Rows are numbered through all calls; xs[0] is the item of row `base`, and xs has
        every row that no call has reached yet. A window has at most `longest` rows; one
        without rows is left without an answer, and not counted as null. `allocate` gives an
        array for answers. `shape`: what is known of all windows, such as EVEN; of windows in step
        with the rows, lo and hi are ranges.
        """

    @property
    @abstractmethod
    def reached(self) -> int:
        """The row after the last that `follow` has inserted."""

    @abstractmethod
    def check(self) -> None:
        """Raise AssertionError, with the state, if an invariant is broken."""

    @abstractmethod
    def parts(self) -> list[Part]:
        """The partials that the window keeps now, with the names of the lists they are in."""

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of the window besides its monoid, for another one like it."""
        return {}

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """The contents of a snapshot."""

    @abstractmethod
    def _set_state(self, state: dict[str, Any]) -> None:
        """Take the state that `_state` gave; an error, before any step follows a cursor or a
        link, if these are not what an algorithm keeps."""

    def load(self, state: dict[str, Any]) -> None:
        """Take the contents of a snapshot, which `swag.restore` has read."""
        try:
            self._set_state(state)
        except snapshot.SnapshotError:
            raise
        except Exception as problem:  # what was written is sealed: this is not what was written
            raise snapshot.SnapshotError(f"a damaged snapshot: {problem!r}; {REMEDY}") from problem

    def snapshot(self) -> bytes:
        """The window as bytes; `swag.restore(blob, monoid)` gives it back."""
        with Use(self):
            return snapshot.write(self, self._state())

    def _require(self, holds: bool, invariant: str) -> None:
        if not holds:
            raise AssertionError(f"{type(self).__name__}: not so: {invariant}\n{self._dump()}")

    def _dump(self) -> str:
        """The state, for a person who looks for what went wrong."""
        return repr(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.monoid.name}, {len(self)} items>"


class Use:
    """The time of a call, for which a window belongs to the thread that calls.

    Steps of single items set the flag themselves. CPython does not switch threads between
    looking at the flag and setting it.
    """

    __slots__ = ("_window",)

    def __init__(self, window: Window) -> None:
        self._window = window

    def __enter__(self) -> None:
        if self._window._is_in_use:
            raise in_use(self._window)
        self._window._is_in_use = True

    def __exit__(self, *_: object) -> None:
        self._window._is_in_use = False


def in_use(window: Window) -> RuntimeError:
    """The error of a call that comes while another one is under way."""
    return RuntimeError(
        f"this {type(window).__name__} window is in use: one thread per window; give each thread "
        "its own, or hold a lock around every call (a monoid's functions cannot call its window)"
    )


def agree(a: Any, b: Any) -> bool:
    """Whether two partials are equal, floats to a rounding error."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(agree(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True))
    return bool(np.all(a == b))
