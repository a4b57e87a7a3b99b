"""Windows over stores whose records are forged or damaged: an error, and nothing is run."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import lmdb
import numpy as np
import pytest

from sash import Monoid, stores, swag
from sash.stores import DamagedRecord, DamagedState, PickledRecord, PickledState, Store
from sash.stores.encoding import decode, encode, seal, unseal
from sash.swag.stored.ledger import HEADER, PAGE, STAMP, TAILS
from tests.conformance.cases import affine, words
from tests.stores.conftest import Server

SMALL = {"page": 16, "buffer": 32, "cache": 32}
ALGORITHMS = [swag.AMTA, swag.LogMTA]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(params=["memory", "lmdb", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "redis":
        spec, options = request.getfixturevalue("server").url, {"title": str(tmp_path)}
    else:
        spec, options = {"memory": "memory:", "lmdb": f"lmdb:{tmp_path}/s"}[request.param], {}
    with stores.open(spec, **options) as store:
        yield store


def fill(store: Store, algorithm: Any = swag.AMTA, make: Callable[[], Monoid] = words) -> Any:
    """A committed window, most of which is in pages."""
    window = algorithm(make(), store=store, compiled=False, **SMALL)
    for i in range(300):
        window.insert(i)
    window.evict_many(100)
    window.commit()
    return window


def opened(store: Store, algorithm: Any = swag.AMTA, make: Callable[[], Monoid] = words) -> Any:
    """The window that is there; all of it is read."""
    window = algorithm(make(), store=store, compiled=False, **SMALL)
    window.check()
    return window


class Hostile:
    """Unpickling it makes a directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def forgeries(space: Store, bomb: Any) -> Iterator[tuple[bytes, bytes]]:
    """Records with a pickle in each of their places, with checksums that fit, and without."""
    raw, plain = pickle.dumps(bomb), encode(bomb, allow_pickle=True)
    header, tails = space.get_many([HEADER, TAILS])
    stamped = bytes(unseal(header, HEADER))
    state, runs = decode(stamped[STAMP:]), decode(unseal(tails, TAILS))
    for place in ("at", "others", "monoid", "inputs"):
        forged = stamped[:STAMP] + encode({**state, place: bomb}, allow_pickle=True)
        yield HEADER, seal(forged, kind=HEADER)
    for run in (bomb, [bomb] * len(runs[0][1])):
        forged = encode([(runs[0][0], run), *runs[1:]], allow_pickle=True)
        yield TAILS, seal(forged, kind=TAILS)
    page = next(k for k in space.keys(stores.numbers(0, 10)) if len(k) == 16)
    yield page, seal(encode([bomb] * 16, allow_pickle=True), kind=PAGE)
    for key, kind in ((HEADER, HEADER), (TAILS, TAILS), (page, PAGE)):
        yield key, raw
        yield key, seal(raw, kind=kind)
        yield key, seal(plain, kind=kind)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pickle_in_a_record_is_not_run(store: Store, algorithm: Any, tmp_path: Path) -> None:
    fill(store, algorithm)
    trap, space = tmp_path / "ran", store.space(b"window")
    for key, forged in list(forgeries(space, Hostile(trap))):
        (kept,) = space.get_many([key])
        assert kept is not None
        space.put_many([(key, forged)])
        with pytest.raises((PickledRecord, DamagedRecord), match="space b'window'"):
            opened(store, algorithm)
        assert not trap.exists()
        space.put_many([(key, kept)])
    opened(store, algorithm)


class Tally:
    """A state of the user's own."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.n == other.n

    __hash__ = None  # type: ignore[assignment]


def tally() -> Monoid:
    return Monoid("tally", Tally(0), lambda x: Tally(1), lambda a, b: Tally(a.n + b.n),
                  lambda v: v.n)  # fmt: skip


def test_objects_of_the_users_are_kept_only_where_that_is_allowed(store: Store) -> None:
    window = swag.AMTA(tally(), store=store, compiled=False, allow_pickle=True, **SMALL)
    for i in range(200):
        window.insert(i)
    window.commit()
    assert swag.AMTA(tally(), store=store, allow_pickle=True, **SMALL).query() == 200
    with pytest.raises(PickledState, match=r"space b'window'.*allow_pickle=True"):
        swag.AMTA(tally(), store=store)
    refused = swag.AMTA(tally(), store=store, name="other")
    refused.insert(1)
    with pytest.raises(TypeError, match=r"type Tally .*allow_pickle=True"):
        refused.commit()


@pytest.mark.parametrize("make", [words, affine])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_flipped_byte_is_found(algorithm: Any, make: Callable[[], Monoid]) -> None:
    """In any record: an error that names the store, and the window as it was before."""
    store, dice = stores.open("memory:"), Random(3)
    want = fill(store, algorithm, make).query()
    space = store.space(b"window")
    keys = space.keys()
    used = {k for k in keys if len(k) != 16 or int.from_bytes(k[8:], "big") > 100 // 16}
    for key in keys:
        (kept,) = space.get_many([key])
        assert kept is not None
        for place in dice.sample(range(len(kept)), min(len(kept), 3)):
            flipped = bytearray(kept)
            flipped[place] ^= dice.randrange(1, 256)
            space.put_many([(key, bytes(flipped))])
            check_damage(store, algorithm, make, key in used, want)
        space.put_many([(key, kept[:-1])])
        check_damage(store, algorithm, make, key in used, want)
        space.put_many([(key, kept)])
    assert opened(store, algorithm, make).query() == want


def check_damage(store: Store, algorithm: Any, make: Any, used: bool, want: Any) -> None:
    try:
        window = opened(store, algorithm, make)
    except DamagedState as problem:
        assert "memory: (space b'window')" in str(problem)  # noqa: PT017
    else:
        assert not used, "a record that is read is damaged, and nobody noticed"
        assert window.query() == want


def test_a_damaged_page_is_met_in_the_middle_of_a_batch() -> None:
    """Compiled code asks for it: the batch is undone, and goes on when the page is whole."""
    store = stores.open("memory:")
    window = swag.AMTA(affine(), store=store, **SMALL)
    window.insert_many(np.arange(3000))
    window.commit()
    space = store.space(b"window")
    key = stores.numbers(0, 100)
    (kept,) = space.get_many([key])
    assert kept is not None
    space.put_many([(key, kept[:-1] + bytes([kept[-1] ^ 1]))])
    with pytest.raises(DamagedRecord, match="page 100 of level 0 of the window"):
        window.slide(np.arange(3000), 2000)
    offset, size = window.offset, len(window)
    assert size >= 2000
    space.put_many([(key, kept)])
    window.check()
    window.slide(np.arange(6000 - offset), 2000)
    window.check()


def numbers_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the whole numbers of a header or of tails are."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        if type(inner) is int:
            yield (*path, key)
        elif isinstance(inner, dict | list | tuple):
            yield from numbers_in(inner, (*path, key))


def with_number(value: Any, path: tuple[Any, ...], number: int) -> Any:
    if not path:
        return number
    if isinstance(value, dict):
        return {**value, path[0]: with_number(value[path[0]], path[1:], number)}
    pairs = enumerate(value)
    return type(value)(with_number(x, path[1:], number) if i == path[0] else x for i, x in pairs)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_headers_and_tails_that_cannot_be_are_refused(algorithm: Any) -> None:
    """With checksums that fit: an error of the store, or a window that compiled code runs on."""
    store, dice, refused = stores.open("memory:"), Random(5), 0
    fill(store, algorithm, affine)
    space = store.space(b"window")
    header, tails = space.get_many([HEADER, TAILS])
    assert header is not None
    assert tails is not None
    stamped = bytes(unseal(header, HEADER))
    values = {HEADER: decode(stamped[STAMP:]), TAILS: decode(unseal(tails, TAILS))}
    for key, value in values.items():
        paths = [p for p in numbers_in(value) if p[0] not in ("others", "monoid", "base", "kept")]
        for path in paths:
            for number in (-1, 0, 1, 17, 1 << 40, 1 << 62, 1 << 80, dice.randrange(600)):
                data = encode(with_number(value, path, number))
                data = stamped[:STAMP] + data if key == HEADER else data
                space.put_many([(key, seal(data, kind=key))])
                try:
                    window = algorithm(affine(), store=store, **SMALL)
                    window.evict_many(len(window) // 2)
                    window.slide(np.arange(100), 50)
                    window.query()
                except stores.StoreError:
                    refused += 1
                space.put_many([(HEADER, header), (TAILS, tails)])
    assert refused > 0


def test_lmdb_finds_records_that_are_not_what_was_written(tmp_path: Path) -> None:
    dice = Random(9)
    with stores.open(f"lmdb:{tmp_path}/s", sync=False) as store:
        store.put_many([(b"k%d" % i, b"value %d" % i * i) for i in range(50)])
    with lmdb.open(str(tmp_path / "s"), max_dbs=1) as env:
        db = env.open_db(b"records")
        with env.begin(db=db, write=True) as txn:
            for key, record in list(txn.cursor()):
                flipped = bytearray(record)
                flipped[dice.randrange(len(record))] ^= 1 << dice.randrange(8)
                txn.put(key, bytes(flipped))
            txn.put(b"short", b"abc")
            txn.put(b"moved", record)
    with stores.open(f"lmdb:{tmp_path}/s", sync=False) as store:
        keys = store.keys()
        for key in keys:
            with pytest.raises(DamagedRecord, match=rf"lmdb:.*{key!r} is damaged.*rebuild"):
                store.get_many([key])
            with pytest.raises(DamagedRecord):
                store.commit([(b"new", b"v")], expect={key: b"v"})
        assert store.get_many([b"new"]) == [None]
