"""Requests of windows of due rows, and what was found: rows and partials by key and time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sash.engine.stream.bulk_rows import Rows, Wanted, in_order
from sash.engine.stream.forest import Forest
from sash.engine.stream.items import Items
from sash.engine.stream.maps import KeyMap, Part
from sash.engine.stream.sorted_keys import order_of


@dataclass
class Asked:
    """The requests of windows of groups of due rows, in order of time in each group."""

    groups: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    rows: list[Wanted] = field(default_factory=list)
    maps: list[tuple[list[Part], KeyMap]] = field(default_factory=list)
    of_rows: list[int] = field(default_factory=list)  # the number of each request among all
    of_maps: list[int] = field(default_factory=list)
    middle: list[bool] = field(default_factory=list)  # whether all windows of its group have it
    some: dict[int, np.ndarray] = field(default_factory=dict)  # of which keys, if not of all

    def add_rows(self, group: int, wanted: Wanted, some: np.ndarray | None = None) -> None:
        """Ask for rows of the group's keys; `some`: the places of those that are wanted."""
        self.of_rows.append(len(self.groups))
        self._add(group, 0.0, False, some)
        self.rows.append(wanted)

    def add_map(
        self,
        group: int,
        layers: list[Part],
        keys: KeyMap,
        time: float,
        some: np.ndarray | None = None,
    ) -> None:
        """Ask for partials, of keys that are all of the group's, or `some` of them. Where they are
        of all, all windows of the group have them."""
        self.of_maps.append(len(self.groups))
        self._add(group, time, some is None, some)
        self.maps.append((layers, keys))

    def _add(self, group: int, time: float, middle: bool, some: np.ndarray | None) -> None:
        if some is not None:
            self.some[len(self.groups)] = some
        self.groups.append(group)
        self.times.append(time)
        self.middle.append(middle)

    def keys(self, request: np.ndarray, key: np.ndarray) -> np.ndarray:
        """Which of its group's keys finds of requests are of, by their places in the requests."""
        if not self.some:
            return key
        begins = np.full(len(self.groups), -1)
        sizes = np.array([len(each) for each in self.some.values()])
        begins[list(self.some)] = np.cumsum(sizes) - sizes
        first = begins[request]
        every = np.concatenate([*self.some.values(), [0]])  # the last is not read
        return np.where(first < 0, key, every[np.where(first < 0, -1, first + key)])


@dataclass
class Given:
    """Rows and partials that windows have: first all rows, then all partials."""

    codes: np.ndarray  # of the group and the key
    times: np.ndarray
    due: np.ndarray
    middle: np.ndarray
    late: np.ndarray  # not in order of time with the others
    request: np.ndarray
    rows: Rows | None
    map: KeyMap | None

    def items(self, forest: Forest, place: int) -> Items:
        """The items of a state."""
        parts = [] if self.rows is None else [forest.items(place, self.rows)]
        return Items.concat(parts if self.map is None else [*parts, self.map.items[place]])

    def asking(self, of: np.ndarray, moments: np.ndarray) -> Given:
        """With moments that ask, each of the key that has its place among the last partials,
        which are of no rows."""
        assert self.map is not None
        n = len(self.codes)
        last = np.flatnonzero(self.request == self.request.max())
        kept = np.arange(n - len(last))
        places = np.concatenate([kept, last[of]])
        asks = places >= len(kept)
        of_map = places[places >= n - len(self.map.ids)] - (n - len(self.map.ids))
        return Given(
            self.codes[places],
            np.concatenate([self.times[kept], moments]),
            asks,
            self.middle[places] & ~asks,
            self.late[places] | asks,  # after all of its time
            self.request[places],
            self.rows,
            self.map.take(of_map),
        )

    def order(self) -> np.ndarray:
        """By group, key and time."""
        by_request = order_of(self.request)
        return by_request[
            in_order(self.codes[by_request], self.times[by_request], self.late[by_request])
        ]
