"""Snapshots that are forged, damaged or of another version: an error, and nothing is run."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, swag
from sash.stores import PickledState
from sash.stores.encoding import decode, encode, seal, unseal
from tests.conformance.cases import affine, int_sum, words
from tests.swag.fiba_oracle import affine as tree_affine

ALGORITHMS = [pytest.param(a, id=name) for name, a in swag.ALGORITHMS.items()]
KIND = b"snapshot"


def monoid_of(algorithm: Any) -> Monoid:
    if algorithm is swag.FiBA:  # as its other tests: its kernels take long to compile
        return tree_affine()
    return int_sum() if algorithm is swag.SubtractOnEvict else affine()


def filled(algorithm: Any, n: int = 40, monoid: Monoid | None = None, **options: Any) -> Any:
    """A window that has seen insertions, evictions and a query."""
    window = algorithm(monoid or monoid_of(algorithm), **options)
    if algorithm is swag.FiBA:
        window.bulk_insert([i * 7 % n for i in range(n)], list(range(n)))
        window.insert(3 * n, 5)
        window.bulk_evict(n // 4)
    else:
        window.insert_many(list(range(n)))
        for _ in range(n // 3):
            window.evict()
    window.query()
    return window


def reforged(blob: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """A snapshot with another content and a checksum that fits."""
    state = decode(unseal(blob, KIND), allow_pickle=True)
    change(state)
    return seal(encode(state, allow_pickle=True), kind=KIND)


class Hostile:
    """Unpickling it makes a directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


# Nothing is run


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pickle_in_a_snapshot_is_not_run(algorithm: Any, tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    blob = filled(algorithm).snapshot()
    for place in ("at", "room", "inputs", "monoid", "algorithm", "other"):
        forged = reforged(blob, lambda state, place=place: state.update({place: Hostile(trap)}))
        with pytest.raises(PickledState, match="allow_pickle=True"):
            swag.restore(forged, monoid_of(algorithm))
    for data in (pickle.dumps(Hostile(trap)), seal(pickle.dumps(Hostile(trap)), kind=KIND)):
        with pytest.raises(swag.SnapshotError):
            swag.restore(data, monoid_of(algorithm))
    assert not trap.exists()


class Tally:
    """A state of the user's own."""

    def __init__(self, n: int) -> None:
        self.n = n


def tally() -> Monoid:
    return Monoid("tally", Tally(0), lambda x: Tally(1), lambda a, b: Tally(a.n + b.n),
                  lambda v: v.n, inverse=lambda total, old: Tally(total.n - old.n))  # fmt: skip


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_states_that_are_objects_are_read_only_where_that_is_allowed(algorithm: Any) -> None:
    window = filled(algorithm, monoid=tally())
    with pytest.raises(PickledState, match="allow_pickle=True"):
        swag.restore(window.snapshot(), tally())
    again = swag.restore(window.snapshot(), tally(), allow_pickle=True)
    assert again.query() == window.query() > 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_states_of_numbers_and_text_need_no_pickles(algorithm: Any) -> None:
    makes = [int_sum] if algorithm is swag.SubtractOnEvict else [affine, words]
    for make in makes:
        window = filled(algorithm, monoid=make())
        again = swag.restore(window.snapshot(), make())
        assert (len(again), again.query()) == (len(window), window.query())


def test_quantiles_need_no_pickles() -> None:
    from sash import monoids as m

    pytest.importorskip("datasketches")
    window = swag.DABALite(m.Quantiles())
    window.insert_many([5.0, 1.0, 3.0, float("nan")])
    assert swag.restore(window.snapshot(), m.Quantiles()).query() == window.query()


# Damage is found


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_flipped_byte_and_every_cut_is_found(algorithm: Any) -> None:
    blob = filled(algorithm, 12).snapshot()
    dice = Random(1)
    for place in range(len(blob)):
        flipped = bytearray(blob)
        flipped[place] ^= dice.randrange(1, 256)
        with pytest.raises(swag.SnapshotError):
            swag.restore(bytes(flipped), monoid_of(algorithm))
    for length in (*range(0, len(blob), 37), len(blob) - 1):
        with pytest.raises(swag.SnapshotError, match="snapshot"):
            swag.restore(blob[:length], monoid_of(algorithm))


def test_a_snapshot_of_before_is_refused() -> None:
    header = b'{"format": 1, "algorithm": "DABALite"}'
    old = b"SASH" + len(header).to_bytes(4, "little") + header + b"payload"
    with pytest.raises(swag.SnapshotError, match=r"a snapshot of format 1.*rebuild"):
        swag.restore(old, affine())


# What has a checksum that fits, and is not so all the same


def numbers_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the whole numbers of a state are: keys, then an index."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers_in(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            yield from numbers_in(inner, (*path, i))
    elif isinstance(value, np.ndarray) and value.dtype.kind == "i" and value.ndim == 1:
        yield from ((*path, i) for i in range(len(value)))
    elif type(value) is int:
        yield path


def with_number(value: Any, path: tuple[Any, ...], change: Callable[[int], int]) -> Any:
    """A state with one of its numbers changed."""
    if not path:
        return change(value)
    key, *rest = path
    if isinstance(value, np.ndarray):
        array = value.copy()
        limits = np.iinfo(array.dtype)
        array[key] = max(limits.min, min(limits.max, change(int(array[key]))))
        return array
    if isinstance(value, dict):
        return {**value, key: with_number(value[key], tuple(rest), change)}
    inner = [with_number(x, tuple(rest), change) if i == key else x for i, x in enumerate(value)]
    return type(value)(inner)


def use(window: Any) -> None:
    """Operations of every kind, compiled."""
    if isinstance(window, swag.FiBA):
        window.bulk_insert(np.arange(30, 90), np.arange(60))
        window.bulk_insert(np.arange(5, 200, 3), np.arange(65))
        window.bulk_evict(40)
        window.range_query(50, 70)
        window.slide(np.arange(30), 10)
    else:
        window.insert_many(np.arange(60))
        window.query()
        window.evict_many(len(window) // 2)
        window.slide(np.arange(50), 20)
        window.evict_many(len(window))
    window.query()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_cursors_and_links_that_cannot_be_are_refused(algorithm: Any) -> None:
    """Whatever number is changed: refused, or a window that compiled code can run on."""
    dice, refused = Random(7), 0
    blob = filled(algorithm).snapshot()
    state = decode(unseal(blob, KIND))
    places = list(numbers_in({k: state[k] for k in state if k != "monoid"}))
    cells = [p for p in places if p[:2] in (("room", "part"), ("room", "val"), ("room", "agg"))]
    links = [p for p in places if p not in set(cells)]
    changes = [lambda x: x + 1, lambda x: x - 1, lambda x: -x, lambda x: x ^ 1 << 20,
               lambda x: 2 * x + 5, lambda x: 2**62, lambda x: dice.randrange(100)]  # fmt: skip
    for path in dice.sample(links, min(len(links), 60)):
        for change in changes:
            forged = with_number(state, path, change)
            try:
                blob = seal(encode(forged), kind=KIND)
                window = swag.restore(blob, monoid_of(algorithm), compiled=True)
            except swag.SnapshotError:
                refused += 1
            else:
                use(window)
    assert refused > 0
