"""Damage: flipped bits and cuts in what is kept give a clear error, or the right answer."""

from __future__ import annotations

from random import Random
from typing import Any

from sash import functions as sf
from sash import stores, swag
from sash.engine.stream.pages import StateError
from sash.stores import DamagedState, StoreError
from sash.streams import stream
from sash.swag.registry import ALGORITHMS
from sash.testing.torture.case import Case
from sash.testing.torture.monoids import INVERTIBLE, ORDERED, Kind
from sash.testing.torture.streams import END, rows
from sash.windows import define as d

CLEAR = (DamagedState, StateError, StoreError, swag.SnapshotError)
TRIES = 20


def damage(case: Case) -> None:
    """Damage a snapshot, a window in a store or the state of a stream."""
    case.dice.choice([snapshots, stored_windows, stored_streams])(case)


def damaged(data: bytes, dice: Random) -> bytes:
    """With a bit or some bytes changed, or cut off."""
    if dice.random() < 0.2:
        return data[: dice.randrange(len(data))]
    found = bytearray(data)
    for _ in range(dice.choice([1, 1, 1, 5])):
        found[dice.randrange(len(found))] ^= 1 << dice.randrange(8)
    return bytes(found)


def snapshots(case: Case) -> None:
    """Of every algorithm."""
    name = case.dice.choice(list(ALGORITHMS))
    kinds = INVERTIBLE if ALGORITHMS[name] is swag.SubtractOnEvict else ORDERED
    kind: Kind = case.dice.choice(kinds)
    window: Any = ALGORITHMS[name](kind.make(), compiled=False)
    items = [kind.draw(case.dice) for _ in range(case.dice.randint(1, 60))]
    if name == "FiBA":
        window.bulk_insert(list(range(len(items))), items)
        window.bulk_evict(len(items) // 3)
    else:
        window.insert_many(items)
        window.evict_many(len(items) // 3)
    blob, expected = window.snapshot(), window.query()
    for _ in range(TRIES):
        try:
            found = swag.restore(damaged(blob, case.dice), kind.make()).query()
        except CLEAR:
            case.operations += 1
        else:
            case.same(found, expected, f"a damaged snapshot of {name}")


def broken(store: stores.Store, dice: Random) -> tuple[stores.Store, bytes]:
    """A copy of a store with one of its records damaged, and that record's name."""
    copy, names = stores.open("memory:"), store.keys()
    values = [value for value in store.get_many(names) if value is not None]
    which = dice.randrange(len(names))
    values[which] = damaged(values[which], dice)
    copy.put_many(list(zip(names, values, strict=True)))
    return copy, names[which]


def stored_windows(case: Case) -> None:
    """Of the two algorithms that keep their nodes in a store."""
    dice, kind = case.dice, case.dice.choice(ORDERED)
    algorithm = dice.choice([swag.AMTA, swag.LogMTA])
    options: Any = {"page": 16, "buffer": 32, "cache": 32, "compiled": False}
    store = stores.open("memory:")
    window = algorithm(kind.make(), store=store, **options)
    window.insert_many([kind.draw(dice) for _ in range(dice.randint(1, 400))])
    window.evict_many(len(window) // dice.randint(2, 9))
    window.commit()
    expected = (len(window), window.offset, window.query())
    for _ in range(TRIES):
        copy, name = broken(store, dice)
        try:
            again = algorithm(kind.make(), store=copy, **options)
            found = (len(again), again.offset, again.query())
        except CLEAR:
            case.operations += 1
        else:
            case.same(found, expected, f"{algorithm.__name__} with a damaged record {name!r}")


def stored_streams(case: Case) -> None:
    """Manifest, pages, offset and schema."""
    dice, store = case.dice, stores.open("memory:")
    frame = dice.choice([d.range_between(-20, 0), d.rows(4), d.session(3)])
    table = rows(dice, 60)

    def opened(store: stores.Store) -> Any:
        asked = {"list": sf.collect_list("i").over(frame), "hi": sf.max("x").over(frame)}
        return stream("k", time="t", delay=5, store=store).agg(**asked)

    def finished(store: stores.Store) -> Any:
        live = opened(store)
        offset = live.offset
        return offset, live.feed(table.slice(40)).to_pylist(), live.advance(END).to_pylist()

    first = opened(store)
    first.feed(table.slice(0, 40))
    first.commit(offset=40)
    expected = finished(store)
    for _ in range(TRIES // 4):
        copy, name = broken(store, dice)
        try:
            found = finished(copy)
        except CLEAR:
            case.operations += 1
        else:
            case.same(found, expected, f"a stream over {frame} with a damaged record {name!r}")
