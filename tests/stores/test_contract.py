"""One contract, all stores."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sash import stores
from sash.stores import Store, StoreConflict, numbers

# Few different keys, so that they meet; the ends of the order among them.
keys = st.binary(min_size=1, max_size=2) | st.sampled_from(
    [b"\0", b"\xff", b"\xff" * 5, b"a", b"a\0", numbers(1, 2), b"k" * 400]
)
values = st.binary(max_size=9) | st.sampled_from([b"", b"v" * 5000, bytes(range(256)) * 64])
ends = st.none() | keys
ranges = st.tuples(st.just(b"") | keys, ends)
commits = st.tuples(
    st.just("commit"),
    st.lists(st.tuples(keys, values), max_size=6),
    st.lists(ranges, max_size=2),
    st.lists(st.tuples(keys, st.booleans()), max_size=2),
)
operations = st.lists(
    commits
    | st.tuples(st.just("put_many"), st.lists(st.tuples(keys, values), max_size=9))
    | st.tuples(st.just("delete_range"), st.just(b"") | keys, ends)
    | st.tuples(st.just("get_many"), st.lists(keys, max_size=9))
    | st.tuples(st.just("keys"), st.just(b"") | keys, ends, st.none() | st.integers(0, 5))
    | st.tuples(st.just("reopen")),
    max_size=25,
)


class Model:
    """What a store does, in a dict and by search through all of it."""

    def __init__(self) -> None:
        self.records: dict[bytes, bytes] = {}

    def keys(self, start, stop, limit=None):
        inside = (k for k in self.records if start <= k and (stop is None or k < stop))
        return sorted(inside)[:limit]

    def commit(self, puts=(), deletes=()):
        for start, stop in deletes:
            for k in self.keys(start, stop):
                del self.records[k]
        self.records.update(puts)


def step(store: Store, model: Model, do: tuple) -> None:
    match do:
        case "commit", puts, deletes, expect:
            # What is expected is so, or is not: then the commit must leave no trace.
            told = {k: model.records.get(k) if right else b"not this" for k, right in expect}
            if all(model.records.get(k) == v for k, v in told.items()):
                store.commit(puts, deletes, told)
                model.commit(puts, deletes)
            else:
                with pytest.raises(StoreConflict):
                    store.commit(puts, deletes, told)
        case "put_many", puts:
            store.put_many(puts)
            model.commit(puts)
        case "delete_range", start, stop:
            store.delete_range(start, stop)
            model.commit(deletes=[(start, stop)])
        case "get_many", asked:
            assert store.get_many(asked) == [model.records.get(k) for k in asked]
        case "keys", start, stop, limit:
            assert store.keys(start, stop, limit) == model.keys(start, stop, limit)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=operations)
def test_random_operations_as_a_dict(kind, new, operations):
    opens, model = new(), Model()
    store = opens()
    for do in operations:
        if do == ("reopen",):
            if kind in ("lmdb", "lmdb sync", "redis"):
                store.close()
                store = opens()
        else:
            step(store, model, do)
    assert store.keys() == sorted(model.records)
    assert store.get_many(store.keys()) == [model.records[k] for k in sorted(model.records)]
    store.close()


def test_a_window_s_commit(store):
    """Pages of some KiB put, a range of them deleted, the header with its offset: at once."""
    header = None
    for offset in range(0, 400, 4):
        pages = [(numbers(0, p), p.to_bytes(2, "big") * 1024) for p in range(offset, offset + 4)]
        gone = [(numbers(0, 0), numbers(0, max(0, offset - 20)))]
        new = b"offset %d" % (offset + 4)
        store.commit([*pages, (b"header", new)], gone, {b"header": header})
        header = new
    assert store.keys() == [*(numbers(0, p) for p in range(376, 400)), b"header"]
    assert store.get_many([numbers(0, 375), numbers(0, 399), b"header"]) == [
        None,
        (399).to_bytes(2, "big") * 1024,
        b"offset 400",
    ]


def test_thousands_of_records_in_one_commit(store):
    records = [(numbers(7, i), b"%d" % i * 50) for i in range(12_000)]
    store.put_many(records)
    assert store.get_many([k for k, _ in records]) == [v for _, v in records]
    store.delete_range(numbers(7, 1), numbers(7, 11_999))
    assert store.keys() == [numbers(7, 0), numbers(7, 11_999)]


def test_a_value_of_megabytes(store):
    value = np.random.default_rng(1).bytes(5 << 20)
    store.put_many([(b"k", value)])
    assert store.get_many([b"k"]) == [value]


def test_a_conflict_writes_nothing(store):
    store.put_many([(b"a", b"1"), (b"empty", b"")])
    for expect in ({b"a": b"2"}, {b"a": None}, {b"z": b""}, {b"a": b"1", b"empty": None}):
        with pytest.raises(StoreConflict, match="another writer") as error:
            store.commit([(b"new", b"n")], [(b"", None)], expect)
        assert error.value.store in store.name
    assert store.keys() == [b"a", b"empty"]
    store.commit([(b"a", b"2")], expect={b"a": b"1", b"empty": b"", b"z": None})
    assert store.get_many([b"a"]) == [b"2"]


def test_values_are_copied_whatever_their_shape(store):
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    buffer = bytearray(b"before")
    puts = [(b"2d", memoryview(array)), (b"step", memoryview(array)[::2]), (b"buf", buffer)]
    store.put_many([*puts, (b"none", memoryview(array[:0])), (b"flat", memoryview(buffer)[1:3])])
    buffer[:] = b"after!"
    array[:] = 0
    want = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert store.get_many([b"2d", b"step", b"buf", b"none", b"flat"]) == [
        want.tobytes(),
        want[::2].tobytes(),
        b"before",
        b"",
        b"ef",
    ]


def test_spaces_share_nothing(store):
    names = [b"", b"a", b"ab", b"b", b"\xff" * 100, b"a\0"]
    for name in names:
        store.space(name).put_many([(k, name + k) for k in (b"\0", b"b", b"\xff\xff")])
    for name in names:
        space = store.space(name)
        assert space.keys() == [b"\0", b"b", b"\xff\xff"]
        assert space.get_many([b"b", b"c"]) == [name + b"b", None]
    store.space(b"a").delete_range()
    assert [len(store.space(n).keys()) for n in names] == [3, 0, 3, 3, 3, 3]
    a, b = store.space(b"a"), store.space(b"b")
    with pytest.raises(StoreConflict):
        store.commit([(a.key(b"h"), b"1"), (b.key(b"h"), b"1")], expect={b.key(b"b"): None})
    assert a.get_many([b"h"]) == b.get_many([b"h"]) == [None]
    store.commit([(a.key(b"h"), b"1"), (b.key(b"h"), b"1")])
    assert a.get_many([b"h"]) == b.get_many([b"h"]) == [b"1"]


def test_readers_never_see_half_a_commit(store):
    """A commit gives all records its number; a reader finds one number in all of them."""
    names = [b"left%03d" % i for i in range(40)]
    store.put_many([(n, b"0") for n in names])
    stop, mixed = threading.Event(), []

    def read() -> None:
        while not stop.wait(0.0002):  # or the readers would keep the interpreter to themselves
            seen = set(store.get_many(names))
            if len(seen) != 1:
                mixed.append(seen)

    with ThreadPoolExecutor() as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for i in range(1, 60):  # the values grow, so LMDB's map moves under the readers
                store.commit([(n, b"%d" % i * 60) for n in names], [(b"left", b"leg")])
        finally:
            stop.set()
        for r in readers:
            r.result()
    assert not mixed
    assert set(store.get_many(names)) == {b"59" * 60}


def test_two_threads_commit(store):
    def count(name: bytes) -> None:
        for i in range(50):
            store.commit([(name, b"%d" % i)], expect={name: b"%d" % (i - 1) if i else None})

    with ThreadPoolExecutor() as pool:
        list(pool.map(count, (b"a", b"b")))
    assert store.get_many([b"a", b"b"]) == [b"49", b"49"]


BAD: list[tuple[Callable[[Store], object], type[Exception], str]] = [
    (lambda s: s.get_many([b""]), ValueError, "1 to 511 bytes, not 0"),
    (lambda s: s.put_many([(b"k" * 512, b"")]), ValueError, "1 to 511 bytes, not 512"),
    (lambda s: s.get_many(["k"]), TypeError, "a key is bytes, not str"),
    (lambda s: s.put_many([(b"ok", b""), (b"k", "v")]), TypeError, "value at b'k' is bytes, n"),
    (lambda s: s.put_many([(b"k", None)]), TypeError, "not NoneType"),
    (lambda s: s.delete_range(b"a", "b"), TypeError, "a range is"),
    (lambda s: s.keys(limit=-1), ValueError, "limit"),
    (lambda s: s.commit([(b"ok", b"")], expect={b"": None}), ValueError, "1 to 511"),
    (lambda s: s.space(b"n" * 256), ValueError, "up to 255 bytes, not 256"),
    (lambda s: s.space("n"), TypeError, "name is bytes"),
]


@pytest.mark.parametrize(("call", "error", "text"), BAD)
def test_bad_input_changes_nothing_and_names_the_store(store, call, error, text):
    with pytest.raises(error, match=text) as raised:
        call(store)
    assert str(raised.value).startswith(store.name)
    assert store.keys() == []


def test_closed(kind, store):
    if kind == "space":
        store.close()
        assert store.keys() == []  # the store is still open
        return
    with store:
        store.put_many([(b"a", b"1")])
    store.close()
    for call in (
        lambda: store.get_many([b"a"]),
        lambda: store.put_many([(b"b", b"")]),
        store.flush,
    ):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_nothing_to_do(store):
    store.commit()
    store.put_many([])
    store.delete_range(b"b", b"a")
    store.flush()
    assert store.get_many([]) == store.keys() == store.keys(b"b", b"a") == []


def test_numbers_that_do_not_fit_in_a_key():
    for n in (-1, 1 << 64):
        with pytest.raises(ValueError, match="0 to 2\\^64"):
            stores.numbers(n)
