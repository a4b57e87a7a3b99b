"""Kept: the records of what a stream keeps between batches; `keeping.py` decides it.

forest   frames by time: bulks of rows, and partials per key of 2^k neighbouring bulks
rows     frames by time whose answer is no small partial: the rows of the window
tail     frames by rows, delta, policies: the last rows of each key
so far   sessions, lifetime, until: one partial per key
waiting  frames with rows after the current one: rows until those have come
slices   with `every`: partials per key and slice, in a forest
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Emit = Literal["final", "arrival", "update"]
Structure = Literal["forest", "rows", "tail", "so far", "waiting", "slices"]
PARTIALS: tuple[Structure, ...] = ("forest", "slices", "so far")
"""The structures that keep partials; the others keep rows."""


@dataclass(frozen=True)
class Kept:
    """What stays between batches, besides each state's structure. Lengths are in steps of time.

    `emit`, `idle` and `lead`: as in `Options`.
    """

    emit: Emit
    idle: float | None
    lead: float
    behind: float  # how long before a row its windows by time begin
    ahead: float  # how long after a row they end: so long it waits for the watermark
    rows_ahead: int  # for how many rows of its key after it a row waits
    bulks: bool  # whether rows are kept in bulks by time
    slice: float = 0  # with `every`, the length of a slice, in which no window begins or ends
    steps_back: float = 0  # how long before the watermark windows end that later ones are
    # compared with
    fills: bool = False  # whether windows without rows come out, between those of a key

    @property
    def span(self) -> float:
        """How far back rows by time are kept."""
        return self.ahead + self.behind
