"""Reading ahead: where a store waits, a thread reads pages before they are asked for."""

from __future__ import annotations

from concurrent.futures import Future
from typing import NamedTuple

from sash.memory.segments import Place
from sash.stores import Store, numbers
from sash.swag.stored.threads import thread_of


class Coming(NamedTuple):
    """A page on its way here: the read that has it, and its place among the pages of that read."""

    read: Future[list[bytes | None]]
    number: int


class ReadAhead:
    """The pages of one window that a thread reads, or has read, and that nobody has taken yet."""

    def __init__(self, space: Store) -> None:
        self._space = space
        self._coming: dict[Place, Coming] = {}

    def start(self, places: list[Place]) -> None:
        """Begin to read these pages in one trip, and forget all others."""
        self._coming = {place: self._coming[place] for place in places if place in self._coming}
        new = [place for place in places if place not in self._coming]
        if new:
            reader = thread_of(self._space, "read")
            read = reader.submit(self._space.get_many, [numbers(*place) for place in new])
            self._coming |= {place: Coming(read, i) for i, place in enumerate(new)}

    def take(self, places: list[Place]) -> dict[Place, bytes]:
        """Those of the pages that were read, or are being read: then it waits for them.

        A page that could not be read is left out. The caller reads it again, and gets the error.
        """
        found = {}
        for place in places:
            coming = self._coming.pop(place, None)
            if coming is not None and coming.read.exception() is None:
                record = coming.read.result()[coming.number]
                if record is not None:
                    found[place] = record
        return found
