"""Records in a Redis server, for workers that share them.

Cost    one trip per call; get O(1) per record, put and delete O(log n) per record.
Space   in the server: the records, and a second copy of each key.
Lasts   committed: as the server is set up. With appendonly and appendfsync always it
        survives the server; with everysec, the server's crash may lose the last seconds.
        Without appendonly a restart loses the store; that is noticed, not read as empty.

A hash has the records, a sorted set their keys in order. A commit is a script: like
MULTI and EXEC it runs alone and is replayed whole or not at all, and unlike them it can
check what it expects and delete a range, without a trip for the range's keys. Both are
in one slot of a cluster: the price of commits over several windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import uuid4

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from sash.stores.contract import Data, Range, Store, conflict
from sash.stores.errors import NotAStore, StoreError, StoreFull, StoreUnavailable

FORMAT = b"sash store 1 "  # then an id: a store that was lost and created again is not the same
MARK = b""  # a field that no record can have

# Options of a connection that a URL may have: none changes answers or sends something twice.
OPTIONS = frozenset(
    ("client_name", "db", "health_check_interval", "max_connections", "socket_connect_timeout",
     "socket_keepalive", "socket_timeout")
)  # fmt: skip
TLS_OPTIONS = frozenset(
    ("ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs", "ssl_certfile", "ssl_check_hostname",
     "ssl_keyfile", "ssl_keyfile_password")
)  # fmt: skip

# KEYS: the records, their order. ARGV: the mark; three counts; for each expected record its
# key, whether it is there, its value; for each range its two ends; for each put key and value.
COMMIT = """
local records, order = KEYS[1], KEYS[2]
if redis.call('HGET', records, '') ~= ARGV[1] then return -1 end
local at = 5
for i = 1, tonumber(ARGV[2]) do
  local value = redis.call('HGET', records, ARGV[at])
  if (ARGV[at + 1] == '1') ~= (value ~= false) then return i end
  if value and value ~= ARGV[at + 2] then return i end
  at = at + 3
end
for _ = 1, tonumber(ARGV[3]) do
  for _, key in ipairs(redis.call('ZRANGEBYLEX', order, ARGV[at], ARGV[at + 1])) do
    redis.call('HDEL', records, key)
  end
  redis.call('ZREMRANGEBYLEX', order, ARGV[at], ARGV[at + 1])
  at = at + 2
end
for _ = 1, tonumber(ARGV[4]) do
  if redis.call('HSET', records, ARGV[at], ARGV[at + 1]) == 1 then
    redis.call('ZADD', order, 0, ARGV[at])
  end
  at = at + 2
end
return 0
"""

# Both at one moment; a script and not MULTI, which a full server refuses for reads too.
# ARGV: the range's two ends, and how many at most.
LIST = """
local found = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
return {redis.call('HGET', KEYS[1], ''), found}
"""


class Redis(Store):
    """The store called `title` in the server and database of `url`, made if not there.

    url      redis://host:port/database, or rediss:// with TLS; user and password before the
             host; port 6379 and database 0 if they are left out. Options of redis-py's
             connections that change no answer may follow a question mark.
    timeout  seconds to wait for the server, to connect and to answer.
    """

    def __init__(self, url: str, *, title: str = "sash", timeout: float = 30.0) -> None:
        _check_url(url)
        self._client = redis.Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            # A commit whose answer was lost may have been done: only the caller can
            # tell, so nothing is sent twice. The next call connects again.
            retry=Retry(NoBackoff(), 0),
        )
        at = self._client.connection_pool.connection_kwargs
        scheme = url.partition(":")[0]  # the name is shown, so it must not have the password
        where = at.get("host", "localhost"), at.get("port", 6379), at.get("db", 0)
        self.name = "{}://{}:{}/{}".format(scheme, *where)
        self._records, self._order = f"{{{title}}}:records", f"{{{title}}}:order"
        self._script = self._client.register_script(COMMIT)
        self._list = self._client.register_script(LIST)
        self._closed = False
        try:
            self._begin()
        except BaseException:
            self._client.close()
            raise

    def flush(self) -> None:
        """Make sure that the server is there. How it keeps records is its own setting."""
        self._check_mark(self._call("flush", self._client.hget, self._records, MARK))

    def close(self) -> None:
        self._closed = True
        self._client.close()

    def _get_many(self, keys: list[bytes]) -> list[bytes | None]:
        mark, *values = self._call("read", self._client.hmget, self._records, [MARK, *keys])
        self._check_mark(mark)
        return values

    def _keys(self, start: bytes, stop: bytes | None, limit: int | None) -> list[bytes]:
        args = [*_ends(start, stop), -1 if limit is None else limit]
        mark, found = self._call("read", self._list, [self._records, self._order], args)
        self._check_mark(mark)
        return found

    def _commit(
        self,
        puts: list[tuple[bytes, Data]],
        deletes: list[Range],
        expect: dict[bytes, bytes | None],
    ) -> None:
        args: list[Any] = [self._mark, len(expect), len(deletes), len(puts)]
        for k, v in expect.items():
            args += (k, 0, b"") if v is None else (k, 1, v)
        for start, stop in deletes:
            args += _ends(start, stop)
        for k, data in puts:
            args += k, bytes(data)
        done = self._call("commit", self._script, [self._records, self._order], args)
        if done < 0:
            self._check_mark(None)
        if done > 0:
            raise conflict(self, list(expect)[done - 1])

    def _begin(self) -> None:
        self._check_keeps()
        self._check_free()
        new = FORMAT + uuid4().hex.encode()
        self._call("open", self._client.hsetnx, self._records, MARK, new)
        self._mark = self._call("open", self._client.hget, self._records, MARK) or b""
        if not self._mark.startswith(FORMAT):
            raise NotAStore(
                self.name,
                f"{self._records!r} was written by another version: {self._mark!r}, "
                f"not {FORMAT!r}; open it with another title",
            )

    def _check_free(self) -> None:
        """Refuse keys that something else uses: a commit must not fail half-way on them."""
        with self._client.pipeline(transaction=False) as three:
            three.type(self._order)
            three.hlen(self._records)
            three.hexists(self._records, MARK)
            order, n, marked = self._call("open", three.execute)
        if order not in (b"none", b"zset") or (n and not marked):
            raise self._taken()

    def _taken(self) -> NotAStore:
        what = f"{self._records!r} or {self._order!r} there is something else's"
        return NotAStore(self.name, f"{what}; open it with another title")

    def _check_keeps(self) -> None:
        """Refuse a server that throws records away when its memory is full."""
        memory = self._call("open", self._client.info, "memory")
        if memory.get("maxmemory") and memory["maxmemory_policy"].startswith("allkeys"):
            raise StoreError(
                self.name,
                f"the server evicts keys ({memory['maxmemory_policy']}), and with them windows: "
                "set maxmemory-policy noeviction",
            )

    def _check_mark(self, mark: bytes | None) -> None:
        if mark != self._mark:
            raise NotAStore(
                self.name,
                f"{self._records!r} is not the store that was opened: the server lost it "
                "(restarted without appendonly?) or it was deleted: bring it back, or open again",
            )

    def _call(self, doing: str, command: Any, *args: Any) -> Any:
        if self._closed:
            raise ValueError(f"{self.name} is closed")
        with self._named(doing):
            return command(*args)

    @contextmanager
    def _named(self, doing: str) -> Iterator[None]:
        try:
            yield
        except redis.AuthenticationError as error:
            raise StoreError(self.name, f"{doing}: {error}") from error
        except (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError) as error:
            raise StoreUnavailable(
                self.name,
                f"{doing}: no answer from the server ({error}); "
                "start it or check the address, then go on",
            ) from error
        except redis.ResponseError as error:
            text = str(error)
            if isinstance(error, redis.OutOfMemoryError) or "OOM" in text:
                raise StoreFull(
                    self.name,
                    f"{doing}: the server's maxmemory is reached; nothing was written, "
                    "what was there is intact: raise maxmemory, or delete",
                ) from error
            if "WRONGTYPE" in text:
                raise self._taken() from error
            raise StoreError(self.name, f"{doing}: {error}") from error


def _check_url(url: str) -> None:
    """ValueError for what redis-py would leave out in silence, or fail on at the first call."""
    parts = urlsplit(url)
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # without a password
    try:
        _ = parts.port
    except ValueError as problem:
        raise ValueError(f"{shown}: {problem}; say 'redis://host:6379/0'") from None
    path = unquote(parts.path).strip("/")
    if path and not path.isdecimal():
        raise ValueError(f"{shown}: the database is a number, as in 'redis://host:6379/0'")
    for option in parse_qs(parts.query, keep_blank_values=True):
        if option not in OPTIONS and not (parts.scheme == "rediss" and option in TLS_OPTIONS):
            known = OPTIONS | TLS_OPTIONS if parts.scheme == "rediss" else OPTIONS
            raise ValueError(
                f"{shown}: no option of a Redis store is called {option!r}; "
                f"there are {', '.join(sorted(known))}"
            )


def _ends(start: bytes, stop: bytes | None) -> tuple[bytes, bytes]:
    """A range as ZRANGEBYLEX takes it."""
    return b"[" + start if start else b"-", b"+" if stop is None else b"(" + stop
