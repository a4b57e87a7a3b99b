"""Kills: processes that work on one store, killed one after another; what they committed is there.

Half of them are killed from outside, at a random moment, the others kill themselves inside a
commit: of LMDB, when some of its records are put; of Redis, before it is sent or before its
answer is read. A Redis server is killed too. When a process is killed from outside depends on
the machine: repeat a case a few times.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

from sash import functions as sf
from sash import stores, swag
from sash.stores.lmdb import LMDB
from sash.stores.redis import Redis
from sash.streams import stream
from sash.testing.oracle import answer
from sash.testing.torture.case import Case, Difference
from sash.testing.torture.monoids import affine, words
from sash.testing.torture.servers import KEEPS, RedisServer
from sash.testing.torture.streams import END, rows
from sash.windows import define as d

CONTEXT = multiprocessing.get_context("forkserver")  # its children have no threads of this process
CONTEXT.set_forkserver_preload([__name__])
ROUNDS = 4
BATCH = 20
MOST = 400
ALGORITHMS = {"AMTA": swag.AMTA, "LogMTA": swag.LogMTA}
MONOIDS = {"affine": affine, "words": words}


class DeadlyLMDB(LMDB):
    """Ends the process inside a commit's transaction, when `left` records are put."""

    left = -1

    def _commit(self, puts: Any, deletes: Any, expect: Any) -> None:
        def until_the_end() -> Iterator[Any]:
            for record in puts:
                if self.left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                self.left -= 1
                yield record

        super()._commit(until_the_end(), deletes, expect)  # type: ignore[arg-type]


class DeadlyRedis(Redis):
    """Ends the process when it has committed `left` times: before the next one, or after it."""

    left = -1

    def _commit(self, puts: Any, deletes: Any, expect: Any) -> None:
        if self.left != 0 or len(puts) % 2:
            super()._commit(puts, deletes, expect)
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1


def kills(case: Case) -> None:
    """A stream or a window over LMDB."""
    with tempfile.TemporaryDirectory(prefix="sash-torture-") as directory:
        work = case.dice.choice([killed_stream, killed_window])
        work(case, f"lmdb:{directory}/state", lambda: None)


def redis_kills(case: Case) -> None:
    """A stream or a window over a Redis server, which is killed now and then, and comes back."""
    with tempfile.TemporaryDirectory(prefix="sash-torture-") as directory:
        server = RedisServer(Path(directory), *KEEPS)
        server.start()

        def maybe_kill() -> None:
            if case.dice.random() < 0.5:
                server.kill()
                server.start()
                case.kills += 1

        try:
            case.dice.choice([killed_stream, killed_window])(case, server.url, maybe_kill)
        finally:
            server.kill()


def opened(where: str, left: int = -1) -> Any:
    """The store there: it ends the process inside a commit after that many, if not negative."""
    path = where.removeprefix("lmdb:")
    store: Any = (
        DeadlyRedis(where) if path == where else DeadlyLMDB(path, sync=False, map_size=1 << 24)
    )
    store.left = left if path != where else left // 8
    return store


def killed(case: Case, work: Callable[..., None], *given: Any) -> int:
    """Kill a process that does `work(*given, left, tell)`; the last offset that it told, or -1."""
    dice, said = case.dice, -1
    left, later = dice.choice([-1, dice.randrange(40)]), dice.random() * 0.03
    commits = dice.randrange(5) if left < 0 else 1 << 30
    hear, tell = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=work, args=(*given, left, tell))
    process.start()
    tell.close()
    with contextlib.suppress(EOFError, OSError):  # it is gone already
        for _ in range(commits):
            said = hear.recv()
        time.sleep(later)
    process.kill()
    process.join()
    with contextlib.suppress(EOFError, OSError):
        while True:
            said = hear.recv()
    if process.exitcode not in (0, -signal.SIGKILL):
        raise Difference(f"a process that went on after a kill failed: exit {process.exitcode}")
    case.kills += process.exitcode != 0
    return said


# A stream


def live_on(store: stores.Store | None, which: int) -> Any:
    """The stream, over one of three pairs of frames."""
    frames = [
        (d.range_between(-10, 0), d.rows(3)),
        (d.session(3), d.range_between(-30, -2)),
        (d.lifetime(), d.range_between(-5, 4)),
    ]
    first, second = frames[which]
    return stream("k", time="t", delay=2, store=store).agg(
        total=sf.sum("x").over(first), list=sf.collect_list("i").over(second)
    )


def feed_for_ever(where: str, seed: int, which: int, left: int, tell: Connection) -> None:
    """Feed and commit, from where the store is to the end."""
    table, live = rows(Random(seed), 600), live_on(opened(where, left), which)
    for start in range(live.offset or 0, 600, BATCH):
        live.feed(table.slice(start, BATCH))
        live.commit(offset=start + BATCH)
        tell.send(start + BATCH)


def killed_stream(case: Case, where: str, between: Callable[[], None]) -> None:
    """After each kill the state is that of a stream that was never killed."""
    seed, which, done = case.dice.randrange(1 << 32), case.dice.randrange(3), 0
    table, whole = rows(Random(seed), 600), live_on(None, which)
    for _ in range(ROUNDS):
        said = max(done, killed(case, feed_for_ever, where, seed, which))
        between()
        with opened(where) as store:
            live = live_on(store, which)
            offset = live.offset or 0
            if offset < said:
                raise Difference(f"offset {offset} after a kill, but {said} was committed")
            for start in range(done, offset, BATCH):
                whole.feed(table.slice(start, BATCH))
            done = offset
            for key in set(table.column("k").to_pylist()) if offset else ():
                case.same(live.current(k=key), whole.current(k=key), f"{key} at offset {offset}")
    with opened(where) as store:  # and goes on as that one does
        ends = []
        for each in (live_on(store, which), whole):
            for start in range(done, 600, BATCH):
                each.feed(table.slice(start, BATCH))
            ends.append(each.advance(END).to_pylist() if done else [])
        case.same(ends[0], ends[1], f"the rows at the end, from offset {done} on")


# Windows


def item(i: int) -> int:
    return i * 7919 % 10_007


def left_after(i: int, size: int) -> int:
    """How many items are left of `size` after item i: now and then only a half."""
    return size - size // 2 if i % 700 == 699 else min(size, MOST)


def window_on(store: stores.Store, algorithm: str, monoid: str) -> Any:
    options: Any = {"page": 16, "buffer": 32, "cache": 32, "compiled": False}
    return ALGORITHMS[algorithm](MONOIDS[monoid](), store=store, **options)


def insert_for_ever(where: str, algorithm: str, monoid: str, left: int, tell: Connection) -> None:
    """Insert and evict; the window commits now and then, and so does this process."""
    window = window_on(opened(where, left), algorithm, monoid)
    while True:
        i = window.offset
        window.insert(item(i))
        window.evict_many(len(window) - left_after(i, len(window)))
        if i % 97 == 0:
            tell.send(window.commit())


def killed_window(case: Case, where: str, between: Callable[[], None]) -> None:
    """After each kill the window is that of its offset, recalculated."""
    algorithm, monoid = case.dice.choice(list(ALGORITHMS)), case.dice.choice(list(MONOIDS))
    done, items = 0, list[int]()
    for _ in range(ROUNDS):
        said = max(done, killed(case, insert_for_ever, where, algorithm, monoid))
        between()
        with opened(where) as store:
            window = window_on(store, algorithm, monoid)
            if window.offset < said:
                raise Difference(f"offset {window.offset} after a kill, but {said} was committed")
            for i in range(done, window.offset):
                items.append(item(i))
                items = items[len(items) - left_after(i, len(items)) :]
            what = f"{algorithm} of {monoid} at offset {window.offset}"
            case.same(len(window), len(items), f"{what}: length")
            case.same(window.query(), answer(window.monoid, items), what)
            window.check()
            case.operations += 2 * (window.offset - done)
            done = window.offset
