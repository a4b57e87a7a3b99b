"""Requests of windows of due rows, and what was found: rows and partials by key and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sash.engine.columns import numbers, one_array
from sash.engine.stream.bulk_rows import in_order
from sash.engine.stream.due import NUMBER, Due
from sash.engine.stream.forest import Forest
from sash.engine.stream.items import Items
from sash.engine.stream.maps import KeyMap, Part
from sash.engine.stream.selected import Selected, Wanted
from sash.engine.stream.sorted_keys import order_of


class Marks(NamedTuple):
    """Times at which a group asks, where there need be no row: of keys, by their places among the
    group's, in order of key and time."""

    group: int
    keys: np.ndarray
    times: np.ndarray


@dataclass
class Asked:
    """The requests of windows of groups of due rows, in order of time in each group."""

    groups: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    rows: list[Wanted] = field(default_factory=list)
    maps: list[tuple[list[Part], KeyMap]] = field(default_factory=list)
    of_rows: list[int] = field(default_factory=list)  # the number of each request among all
    of_maps: list[int] = field(default_factory=list)
    marks: list[Marks] = field(default_factory=list)
    some: dict[int, np.ndarray] = field(default_factory=dict)  # of which keys, if not of all

    def add_rows(self, group: int, wanted: Wanted, some: np.ndarray | None = None) -> None:
        """Ask for rows of the group's keys; `some`: the places of those that are wanted."""
        self.of_rows.append(len(self.groups))
        self._add(group, 0.0, some)
        self.rows.append(wanted)

    def add_map(
        self,
        group: int,
        layers: list[Part],
        keys: KeyMap,
        time: float,
        some: np.ndarray | None = None,
    ) -> None:
        """Ask for partials, of keys that are all of the group's, or `some` of them."""
        self.of_maps.append(len(self.groups))
        self._add(group, time, some)
        self.maps.append((layers, keys))

    def _add(self, group: int, time: float, some: np.ndarray | None) -> None:
        if some is not None:
            self.some[len(self.groups)] = some
        self.groups.append(group)
        self.times.append(time)

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
    """What windows have, and where they are asked for: first rows and blocks of rows, then
    partials, then marks."""

    codes: np.ndarray  # of the group and the key
    times: np.ndarray
    due: np.ndarray
    late: np.ndarray  # not in order of time with the others
    request: np.ndarray
    found: Selected | None
    map: KeyMap | None
    marks: int

    def items(self, forest: Forest, place: int) -> Items:
        """The items of a state, in the order that `places` says; marks are of no rows."""
        parts = [] if self.found is None else [forest.rows.found_items(place, self.found)]
        parts += [] if self.map is None else [self.map.items[place]]
        return Items.concat(
            [*parts, forest.states[place].none(self.marks)] if self.marks else parts
        )

    def places(self, order: np.ndarray) -> np.ndarray:
        """Where the items of what is given are, in an order."""
        if self.found is None or self.found.folded is None:
            return order
        known = self.found.folded.places
        return np.append(known, np.arange(len(known), len(self.codes)))[order]

    def order(self) -> np.ndarray:
        """By group, key and time."""
        by_request = order_of(self.request)
        return by_request[
            in_order(self.codes[by_request], self.times[by_request], self.late[by_request])
        ]


def due_of(groups: Sequence[Due], group: np.ndarray, found: Selected) -> np.ndarray:
    """Which finds of groups are due: of new rows those that `marked` says; late rows have marks."""
    times, since = found.times, groups[-1].since
    if not groups[-1].is_new:  # new rows come last
        return np.zeros(len(times), np.bool_)
    is_new = np.array([due.is_new for due in groups])
    least, most = (
        np.array([due.span[side] for due in groups], times.dtype)[group] for side in (0, 1)
    )
    marks: np.ndarray = is_new[group] & (times >= least) & (times <= most)
    if since is not None:
        numbered = np.flatnonzero(marks)
        places = numbered if found.folded is None else found.folded.places[numbered]
        number = numbers(one_array(found.rows.table.column(NUMBER)))
        marks[numbered] = number[places] >= since
    return marks
