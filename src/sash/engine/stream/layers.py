"""Lookups in maps that others override: of all requests in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sash.engine.stream.lookups import Found, first_from, loop, memory_of
from sash.kernel.words import Int64, Memory, attach
from sash.kernel.words import numbers as integers


class Layered(NamedTuple):
    """The columns of `find_layers`: per layer its sorted numbers, as addresses, and how many they
    are; per request its layers and the numbers that it asks for; per such number its layer and its
    place there."""

    ids: Int64
    size: Int64
    layers: Int64
    count: Int64
    wanted: Int64
    layer: Int64
    place: Int64
    held: int


def find_layers(memory: Memory, at: Found, requests: int) -> Found:
    """The last layer of each request that has a number which is asked for, all of them sorted."""
    q = attach(memory)
    begin = layer = 0
    for request in range(requests):
        end = begin + q.count[request]
        for _ in range(q.layers[request]):
            ids, n = integers(q.ids[layer]), q.size[layer]
            low = 0
            for i in range(begin, end):
                low = first_from(ids, low, n, q.wanted[i])
                if low < n and ids[low] == q.wanted[i]:
                    q.layer[i] = layer
                    q.place[i] = low
            layer += 1
        begin = end
    return Found(begin)


def layered(
    ids: tuple[np.ndarray, np.ndarray],
    layers: Sequence[int],
    wanted: np.ndarray,
    counts: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """For numbers that are wanted the layer that has each, or less than 0, and its place there.

    `ids`: where the numbers of each layer begin in memory and how many they are; `layers`: how many
    each request has, a later one of which overrides those before it; `counts`: how many it wants.
    """
    layer, place = np.full(len(wanted), -1), np.zeros(len(wanted), np.int64)
    given = (*ids, np.array(layers, np.int64), counts, wanted, layer, place)
    loop(find_layers, Layered)(memory_of(given), Found(0), len(layers))
    return layer, place
