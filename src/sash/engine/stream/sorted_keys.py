"""Sorted numbers of keys: where each begins, where some are, and proofs that they are one key."""

from __future__ import annotations

import numpy as np

from sash.engine.stream.lookups import Column, runs


class Collision(Exception):
    """Two keys have one number: `id`, and the second hashes of both."""

    def __init__(self, key: int, known: int, new: int) -> None:
        super().__init__(f"two keys share the number {key}")
        self.id, self.known, self.new = key, known, new


SHORT = 1 << 16
"""Numbers below it are sorted by radix."""


def order_of(numbers: np.ndarray) -> np.ndarray:
    """The places of numbers in order; of equal ones as they are."""
    if len(numbers) and numbers.min() >= 0 and numbers.max() < SHORT:
        numbers = numbers.astype(np.uint16)
    return np.argsort(numbers, kind="stable")


def ranges(first: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """So many numbers from each first one on, one range after the other."""
    shift = np.cumsum(counts) - counts
    return np.repeat(first - shift, counts) + np.arange(int(counts.sum()))


def starts(ids: np.ndarray) -> np.ndarray:
    """Where each key begins, of sorted numbers."""
    if not len(ids):
        return np.zeros(0, np.int64)
    first = np.empty(len(ids), np.bool_)
    first[0] = True
    np.not_equal(ids[1:], ids[:-1], out=first[1:])
    found: np.ndarray = first.nonzero()[0]
    return found


def unique(ids: np.ndarray, checks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The keys of rows in order of key."""
    first = starts(ids)
    return ids[first], checks[first]


def places_of(ids: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where wanted keys are among sorted ones, and which wanted one each is."""
    wanted = np.ascontiguousarray(wanted)
    known = Column.of(ids)
    size, count = np.array([len(ids)]), np.array([len(wanted)])
    first, stop = runs(np.array([known.address]), size, wanted, count)
    counts = stop - first
    return ranges(first, counts), np.repeat(np.arange(len(wanted)), counts)


def prove(known: np.ndarray, new: np.ndarray, ids: np.ndarray) -> None:
    """Raise Collision where a key's number is that of another key."""
    wrong = np.flatnonzero(known != new)
    if len(wrong):
        i = wrong[0]
        raise Collision(int(ids[i]), int(known[i]), int(new[i]))


def prove_equal(checks: np.ndarray, ids: np.ndarray) -> None:
    """Raise Collision where neighbours of one number are different keys."""
    wrong = np.flatnonzero((ids[1:] == ids[:-1]) & (checks[1:] != checks[:-1]))
    if len(wrong):
        i = wrong[0]
        raise Collision(int(ids[i]), int(checks[i]), int(checks[i + 1]))
