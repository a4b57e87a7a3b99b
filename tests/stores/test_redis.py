"""Redis: servers that are killed, hang, forget, or are full; keys that are something else's."""

from __future__ import annotations

import signal
import threading

import pytest
import redis

from sash import stores
from sash.stores import NotAStore, StoreConflict, StoreError, StoreFull, StoreUnavailable, numbers
from tests.stores.conftest import waiting

PAGES = 30


def commit(store: stores.Store, i: int, before: int | None) -> None:
    pages = [(numbers(i, p), b"%d " % i * 300) for p in range(PAGES)]
    expect = {b"header": None if before is None else b"%d" % before}
    store.commit([*pages, (b"header", b"%d" % i)], [(numbers(0), numbers(i))], expect)


def following(i: int | None) -> int:
    return 0 if i is None else i + 1


def fill(store: stores.Store) -> int:
    """Commit till there is no room; how many went in."""
    for i in range(1000):
        pages = [(numbers(i, p), bytes(10_000)) for p in range(20)]
        try:
            store.put_many([*pages, (b"header", b"%d" % i)])
        except StoreFull:
            return i
    raise AssertionError("it is never full")


def check_whole(store: stores.Store) -> int | None:
    header = store.get_many([b"header"])[0]
    if header is None:
        assert store.keys() == []
        return None
    i = int(header)
    assert store.keys() == [*(numbers(i, p) for p in range(PAGES)), b"header"]
    assert set(store.get_many([numbers(i, p) for p in range(PAGES)])) == {b"%d " % i * 300}
    return i


def test_a_server_killed_in_the_middle(new_server):
    """It keeps a log; it is killed while commits run; back again, the store goes on."""
    server = new_server("--appendonly", "yes", "--appendfsync", "always")
    store = stores.open(server.url)
    last: int | None = None

    def go_on() -> None:
        nonlocal last
        while True:
            commit(store, following(last), last)
            last = following(last)

    for round_ in range(6):
        for _ in range(2):
            commit(store, following(last), last)
            last = following(last)
        killer = threading.Timer(0.02 + 0.02 * round_, server.kill)
        killer.start()
        with pytest.raises(StoreUnavailable) as error:
            go_on()
        killer.join()
        assert error.value.store == server.url
        assert str(server.port) in str(error.value)
        with pytest.raises(StoreUnavailable, match="start it or check the address"):
            store.get_many([b"header"])
        server.start()
        there = check_whole(store)
        assert there in (last, following(last))
        last = there
    assert last is not None
    assert last > 6
    store.close()


def test_a_server_that_forgot(new_server):
    """Without a log a restart loses the store: said, not taken for an empty one."""
    server = new_server()
    with stores.open(server.url) as store:
        commit(store, 0, None)
        server.kill()
        server.start()
        for call in (
            lambda: store.get_many([b"header"]),
            store.keys,
            store.flush,
            lambda: store.put_many([(b"k", b"v")]),
        ):
            with pytest.raises(NotAStore, match="lost it"):
                call()
        with stores.open(server.url) as other:  # made anew, it is another store
            other.put_many([(b"header", b"0")])
            with pytest.raises(NotAStore, match="not the store that was opened"):
                store.put_many([(b"k", b"v")])
            assert other.keys() == [b"header"]


WRITES = {
    "put": lambda store: store.put_many([(b"k", b"v")]),
    "delete": lambda store: store.delete_range(b"a", b"z"),
    "delete all": lambda store: store.delete_range(),
    "all of it": lambda store: commit(store, 1, 0),
    "only what is expected": lambda store: store.commit(expect={b"header": b"0"}),
    "that nothing is there": lambda store: store.commit(expect={b"k": None}),
    "flush": lambda store: store.flush(),
    "in a space": lambda store: store.space(b"s").put_many([(b"k", b"v")]),
}


@pytest.mark.parametrize("how", ["wiped", "emptied", "cut"])
def test_every_kind_of_commit_notices_that_the_server_lost_the_store(new_server, tmp_path, how):
    """Its log was wiped, its databases were flushed, or the log's beginning is gone."""
    server = new_server("--appendonly", "yes", "--appendfsync", "always")
    with stores.open(server.url) as store:
        commit(store, 0, None)
        client = redis.Redis(port=server.port)
        # since Redis 7 the log is in parts, of which one has what came since the start
        log = next(tmp_path.glob("appendonlydir/*.incr.aof"), tmp_path / "appendonly.aof")
        if how == "emptied":
            client.flushall()
        elif how == "wiped":
            server.kill()
            log.write_bytes(b"")
            server.start()
        else:  # a log that begins after the store was made: later records without its mark
            begun = log.stat().st_size
            commit(store, 1, 0)
            server.kill()
            log.write_bytes(b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n" + log.read_bytes()[begun:])
            server.start()
            assert client.hlen("{sash}:records") > 1
        before = client.dbsize(), client.hlen("{sash}:records")
        for name, write in WRITES.items():
            with pytest.raises(NotAStore, match="lost it"):
                write(store)
            assert (client.dbsize(), client.hlen("{sash}:records")) == before, name
        client.close()


@pytest.mark.parametrize("where", ["", "/", "/0", "?socket_timeout=9", "/0?client_name=sash"])
def test_what_a_url_may_leave_out(server, where):
    url = server.url.removesuffix("/0") + where
    with stores.open(url, title="urls") as store:
        store.put_many([(b"k", b"v")])
        assert store.name == server.url


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("redis://:s3cret@host:6379/0?retries=3", r"'retries'; there are client_name, db"),
        ("redis://:s3cret@host:6379?decode_responses=True", "'decode_responses'"),
        ("redis://host/0?ssl_ca_certs=x", "'ssl_ca_certs'"),
        ("rediss://host/0?ssl_nonsense=x", "'ssl_nonsense'; there are .*ssl_ca_certs"),
        ("redis://:s3cret@host/windows", "the database is a number"),
        ("redis://:s3cret@host:port/0", "say 'redis://host:6379/0'"),
    ],
)
def test_what_a_url_may_not_say(url, text):
    with pytest.raises(ValueError, match=text) as error:
        stores.open(url)
    assert "s3cret" not in str(error.value)


def test_a_server_that_hangs(new_server):
    server = new_server()
    with stores.open(server.url) as store:
        commit(store, 0, None)
        server.signal(signal.SIGSTOP)
        with (
            waiting(store, seconds=0.3),
            pytest.raises(StoreUnavailable, match=f"{server.port}.*commit: no answer"),
        ):
            commit(store, 1, 0)
        server.signal(signal.SIGCONT)
        i = check_whole(store)  # it reads what was sent while it hung, now, later or never
        try:
            commit(store, 2, i)
        except StoreConflict:
            assert check_whole(store) == 1
        else:
            assert check_whole(store) == 2


def test_a_full_server(new_server):
    server = new_server("--maxmemory", "4mb", "--maxmemory-policy", "noeviction")
    with stores.open(server.url) as store:
        i = fill(store)
        assert i > 5
        assert store.get_many([b"header"]) == [b"%d" % (i - 1)]
        assert len(store.keys()) == 20 * i + 1
        store.delete_range(numbers(0), numbers(i // 2 + 1))  # and it goes on
        store.put_many([(b"header", b"on")])
        assert store.get_many([b"header"]) == [b"on"]


def test_a_full_server_takes_a_commit_whole_or_not(new_server):
    """Its deletes come first, and are not refused: then the puts must not be either."""
    server = new_server("--maxmemory", "4mb", "--maxmemory-policy", "noeviction")
    with stores.open(server.url) as store:
        n = fill(store) * 20 + 1
        more = [(numbers(9999, p), bytes(10_000)) for p in range(50)]
        with pytest.raises(StoreFull, match=f"{server.port}.*maxmemory is reached"):
            store.commit(more)
        assert len(store.keys()) == n
        try:
            store.commit(more, [(numbers(0, 0), numbers(0, 1))])
        except StoreFull:
            assert len(store.keys()) == n
        else:
            assert len(store.keys()) == n - 1 + 50


def test_a_server_that_evicts(new_server):
    server = new_server("--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru")
    with pytest.raises(StoreError, match="noeviction"):
        stores.open(server.url)


def test_no_server(new_server):
    server = new_server()
    server.kill()
    with pytest.raises(StoreUnavailable, match=rf"^redis://127.0.0.1:{server.port}/0: open: "):
        stores.open(server.url)


def test_a_password(new_server):
    server = new_server("--requirepass", "s3cret")
    with stores.open(server.url.replace("//", "//:s3cret@")) as store:
        commit(store, 0, None)
        assert "s3cret" not in store.name
    for url in (server.url, server.url.replace("//", "//:wr0ng@")):
        with pytest.raises(StoreError, match=f"{server.port}") as error:
            stores.open(url)
        assert not isinstance(error.value, StoreUnavailable)  # to try again does not help
        assert "wr0ng" not in str(error.value)


def test_keys_that_are_something_else_s(server):
    client = redis.Redis(port=server.port)
    client.set("{text}:records", "text")
    client.hset("{hash}:records", "field", "value")
    client.set("{order}:order", "text")
    client.hset("{old}:records", "", "sash store 0 abc")
    for title, why in {
        "text": "something else",
        "hash": "something else",
        "order": "something else",
        "old": "another version: b'sash store 0",
    }.items():
        with pytest.raises(NotAStore, match=why):
            stores.open(server.url, title=title)
    assert client.hgetall("{hash}:records") == {b"field": b"value"}
    client.close()


def test_titles_and_databases_are_apart(server):
    other = server.url[:-1] + "1"
    with (
        stores.open(server.url, title="one") as one,
        stores.open(server.url, title="two") as two,
        stores.open(other, title="one") as three,
    ):
        one.put_many([(b"k", b"1")])
        assert two.keys() == three.keys() == []
        with stores.open(server.url, title="one") as again:
            assert again.get_many([b"k"]) == [b"1"]
