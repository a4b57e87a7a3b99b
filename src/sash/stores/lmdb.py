"""Records in a directory of this machine: LMDB, a B+ tree mapped into memory. The default.

Cost    get and put O(log n) pages of 4 KiB, from the page cache or the disk; a commit
        copies the pages it changes, and with sync=True waits for the disk once or twice.
Space   up to 1.5 times the records; pages freed by deletes are used again, the
        file never shrinks. No copy of it in this process: its pages are the page cache's.
Lasts   committed: survives this process. flush, or sync=True: survives the machine.

LMDB itself has no checksums, so each record has one here: four bytes before its value, the
CRC-32 of key and value. A record that is not what was written is a `DamagedRecord`. Each commit
has a number, in the store and in the file `commits` beside it: a store that has lost its last
commits is refused when it is opened.
"""

from __future__ import annotations

import errno
import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import lmdb
from lmdb.verify import VerifyError, verify

from sash.stores.commit_count import CommitCount
from sash.stores.contract import Data, Range, Store, conflict
from sash.stores.encoding import REMEDY
from sash.stores.errors import DamagedRecord, NotAStore, StoreError, StoreFull, StoreUnavailable

T = TypeVar("T")

FORMAT = b"sash store 2 "  # then an id: a store that was replaced by another is not the same
MARK, RECORDS, COMMITS = b"sash", b"records", b"commits"
MIN_MAP = 64 << 10
VERIFIED = 64 << 20  # bytes of a file up to which it is checked whenever it is opened
_CHECK = struct.Struct("<I")
_OURS = {"data.mdb", "lock.mdb", "commits"}


class LMDB(Store):
    """An LMDB environment in the directory `path`, made if it is not there.

    map_size  the room at first, in bytes. It grows by doubling up to `max_size` (None:
              as far as the disk goes); past that, `StoreFull`. Only a commit that deletes at
              least as much as it puts may go past it, because LMDB gives deleted room back
              to the next commit: so deleting makes room in a store that is full.
    sync      True: a commit that returned survives a crash of the machine. False: much
              faster; it survives this process at once, the machine's crash only from
              a `flush` to the next commit, and after that the store may be lost.

    verify    True: check LMDB's own pages when the store is opened, and refuse a damaged one:
              about 5 s per million records of any size. False: damage to them may end
              the process, or hide records. None (default): check a file of up to 64 MiB.

    Several processes may have one store open, each once; not over a network's file system.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        map_size: int = 1 << 30,
        max_size: int | None = None,
        sync: bool = True,
        verify: bool | None = None,
    ) -> None:
        if not os.fspath(path):
            raise ValueError("'lmdb:' names no directory: say 'lmdb:path'")
        if map_size < MIN_MAP or (max_size is not None and max_size < MIN_MAP):
            raise ValueError(f"lmdb:{path}: map_size and max_size are {MIN_MAP} bytes at least")
        self.path = Path(path)
        self.name = f"lmdb:{self.path}"
        self.max_size = max_size
        self.waits = sync
        self._gate = threading.Condition()  # the map moves only while nobody is inside
        self._inside, self._moving = 0, False
        self._writing = threading.Lock()
        self._settled = 0  # the map's size before the commit that is being written
        self._process = os.getpid()
        self._closed = False
        self._check_directory()
        with self._named("open"):
            self._env = lmdb.open(
                str(self.path),
                map_size=map_size if max_size is None else min(map_size, max_size),
                sync=sync,
                readahead=False,  # pages are read one by one, from a file beyond memory
                max_dbs=1,
            )
        try:
            self._check_whole(verify)
            self._begin()
        except BaseException:
            self._env.close()
            raise

    def flush(self) -> None:
        self._check_there()
        with self._entered(), self._named("flush"):
            self._env.sync(True)

    def close(self) -> None:
        with self._gate:
            self._gate.wait_for(lambda: not self._inside)
            if not self._closed:
                self._closed = True
                self._env.close()
                self._count.close()

    def _get_many(self, keys: list[bytes]) -> list[bytes | None]:
        found = self._read(lambda txn: dict(txn.cursor().getmulti(keys)))
        return [self._value(k, found.get(k)) for k in keys]

    def _value(self, key: bytes, record: bytes | None) -> bytes | None:
        """The value of a record, if it is the one that was written."""
        if record is None:
            return None
        value = memoryview(record)[_CHECK.size :]
        if len(record) < _CHECK.size or _CHECK.unpack_from(record)[0] != _checksum(key, value):
            raise DamagedRecord(
                self.name,
                f"the record at {key!r} is damaged; {REMEDY}",
            )
        return bytes(value)

    def _keys(self, start: bytes, stop: bytes | None, limit: int | None) -> list[bytes]:
        def found(txn: lmdb.Transaction[bytes]) -> list[bytes]:
            out: list[bytes] = []
            cursor = txn.cursor()
            if cursor.set_range(start):
                for k in cursor.iternext(keys=True, values=False):
                    if (stop is not None and k >= stop) or len(out) == limit:
                        break
                    out.append(k)
            return out

        return self._read(found)

    def _commit(
        self,
        puts: list[tuple[bytes, Data]],
        deletes: list[Range],
        expect: dict[bytes, bytes | None],
    ) -> None:
        self._check_there()
        # A key's last value only: LMDB leaves a shorter second one in the pages of the first,
        # which its own check of the file then takes for damage.
        puts = list(dict(puts).items())
        with self._writing:
            with self._entered():  # which refuses a store that is closed
                self._settled = self._env.info()["map_size"]
            try:
                while not self._try(puts, deletes, expect):
                    self._grow(bool(deletes))
            finally:
                if self._is_past_max_size():
                    self._resize(self.max_size or 0)  # or what is used, if that is more

    def _try(
        self,
        puts: list[tuple[bytes, Data]],
        deletes: list[Range],
        expect: dict[bytes, bytes | None],
    ) -> bool:
        """One transaction; False when the map was too small for it, and nothing is written."""
        try:
            with self._entered(), self._named("commit"), self._transaction(True) as txn:
                for k, v in expect.items():
                    if self._value(k, txn.get(k)) != v:
                        raise conflict(self, k)
                cursor, before = txn.cursor(), self._used(txn)
                for start, stop in deletes:
                    there = cursor.set_range(start)
                    while there and (stop is None or cursor.key() < stop):
                        cursor.delete()  # moves on to the next
                        there = bool(cursor.key())
                cursor.putmulti((k, _record(k, v)) for k, v in puts)
                self._check_fits(before, self._used(txn))
                number = self._commits(txn) + 1
                txn.put(COMMITS, b"%d" % number, db=self._main)
        except lmdb.MapFullError:
            return False
        except lmdb.MapResizedError:
            self._adopt()
            return self._try(puts, deletes, expect)
        self._count.write(number)
        return True

    def _read(self, work: Callable[[lmdb.Transaction[bytes]], T]) -> T:
        while True:
            try:
                with self._entered(), self._named("read"), self._transaction(False) as txn:
                    return work(txn)
            except lmdb.MapResizedError:  # another process made it larger
                self._adopt()

    def _transaction(self, write: bool) -> lmdb.Transaction[bytes]:
        return self._env.begin(db=self._db, write=write)

    def _commits(self, txn: lmdb.Transaction[bytes]) -> int:
        """The number of the last commit in the store."""
        return int(txn.get(COMMITS, db=self._main) or 0)

    def _used(self, txn: lmdb.Transaction[bytes]) -> int:
        """The bytes of the pages that hold records, or lead to them."""
        there = txn.stat(self._db)
        pages = there["branch_pages"] + there["leaf_pages"] + there["overflow_pages"]
        return pages * there["psize"]

    def _check_fits(self, before: int, after: int) -> None:
        """StoreFull if a commit makes records take more than `max_size`, or takes room past it
        that was not there before, and does not delete as much as it puts."""
        if after > before and self.max_size is not None:
            size = self._env.info()["map_size"]
            if self._is_past_max_size() or after > self.max_size < size:
                raise self._full()

    def _is_past_max_size(self) -> bool:
        """Whether this commit made the map larger than it may be."""
        return self.max_size is not None and self._env.info()["map_size"] > max(
            self._settled, self.max_size
        )

    def _grow(self, deletes: bool) -> None:
        size = self._env.info()["map_size"]
        larger = size * 2
        if self.max_size is not None:
            larger = min(larger, self.max_size * (2 if deletes else 1))
        if larger <= size:
            raise self._full()
        self._resize(larger)

    def _full(self) -> StoreFull:
        return StoreFull(
            self.name,
            f"the commit does not fit into max_size={self.max_size} bytes; nothing of it was "
            "written, what was there is intact: delete something (a window: evict, then commit), "
            "or open it with a larger max_size",
        )

    def _adopt(self) -> None:
        self._resize(0)

    def _resize(self, size: int) -> None:
        """A map of `size` bytes (0: as another process has it). Waits for readers to leave."""
        with self._gate:
            self._moving = True  # from now on nobody enters, else it might never be empty
            self._gate.wait_for(lambda: not self._inside)
            try:
                with self._named("grow"):
                    self._env.set_mapsize(size)
            finally:
                self._moving = False
                self._gate.notify_all()

    @contextmanager
    def _entered(self) -> Iterator[None]:
        if os.getpid() != self._process:
            raise StoreError(
                self.name, "it was opened before a fork: open it again in this process"
            )
        with self._gate:
            self._gate.wait_for(lambda: not self._moving)
            if self._closed:
                raise ValueError(f"{self.name} is closed")
            self._inside += 1
        try:
            yield
        finally:
            with self._gate:
                self._inside -= 1
                self._gate.notify_all()

    @contextmanager
    def _named(self, doing: str) -> Iterator[None]:
        """LMDB's errors as the store's; MapFull and MapResized are answered, not reported."""
        try:
            yield
        except (lmdb.MapFullError, lmdb.MapResizedError):
            raise
        except lmdb.PanicError as error:
            raise StoreError(self.name, f"{doing}: {error}; close it, open it again") from error
        except (lmdb.Error, OSError) as error:
            if isinstance(error, StoreError):
                raise
            code = getattr(error, "code", 0) or getattr(error, "errno", 0)
            # LMDB says EIO for a write that the disk took only a part of.
            if doing == "commit" and code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
                raise StoreFull(
                    self.name,
                    f"the disk did not take the commit ({error}); nothing of it was written, "
                    f"what was there is intact: make room (there are {_free(self.path)} bytes)",
                ) from error
            if isinstance(error, lmdb.InvalidError | lmdb.VersionMismatchError):
                raise NotAStore(self.name, f"data.mdb is not LMDB's: {error}") from error
            raise StoreError(self.name, f"{doing}: {error}") from error

    def _check_directory(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            others = {p.name for p in self.path.iterdir()}
        except (FileExistsError, NotADirectoryError):
            raise NotAStore(self.name, "there is a file; a store is a directory") from None
        except OSError as error:
            raise StoreUnavailable(self.name, f"cannot be opened: {error}") from error
        if others and "data.mdb" not in others and others - _OURS:
            raise NotAStore(
                self.name,
                f"the directory holds other things ({sorted(others)[0]!r}) and no store: "
                "name an empty one, or one that does not exist",
            )

    def _begin(self) -> None:
        """Check what is there and mark what is new; then nothing else is mistaken for it."""
        self._env.reader_check()  # slots of killed processes, which would keep pages from reuse
        self._main = self._env.open_db(None)
        with self._named("open"), self._env.begin(write=True) as txn:
            mark = txn.get(MARK)
            if mark is None and txn.stat()["entries"]:
                raise NotAStore(self.name, "an LMDB environment of something else")
            if mark is not None and not mark.startswith(FORMAT):
                raise NotAStore(
                    self.name,
                    f"written by another version: {mark!r}, not {FORMAT!r}; use that version, or "
                    "another directory and rebuild the state from its input",
                )
            if mark is None:
                txn.put(MARK, FORMAT + uuid4().hex.encode())
            self._db = self._env.open_db(RECORDS, txn=txn)
            self._count = self._checked_count(self._commits(txn))
        self._file = os.stat(self.path / "data.mdb").st_ino

    def _checked_count(self, found: int) -> CommitCount:
        """The file with the number of the last commit; refuses a store that has lost commits."""
        count = CommitCount(self.path / "commits")
        try:
            last = count.read()
            if found < last:
                raise ValueError(
                    f"its last commit is number {found}, and there were {last}: data.mdb is "
                    "damaged, or older than its directory"
                )
        except ValueError as problem:
            count.close()
            remedy = f"{REMEDY}; to go on from commit {found}, remove the file commits"
            raise NotAStore(self.name, f"{problem}; {remedy}") from None
        count.write(found)
        return count

    def _check_whole(self, verify: bool | None) -> None:
        """Refuse a file that would end the process by a signal when it is read or written."""
        size = os.stat(self.path / "data.mdb").st_size
        if verify is None:
            verify = size <= VERIFIED
        with self._named("open"), self._env.begin():  # a reader: nothing is reused meanwhile
            pages = self._env.info()["last_pgno"] + 1
            # Pages that were taken and given back in one commit are never written, so a file
            # that is too short may be whole.
            if (verify or size < pages * self._env.stat()["psize"]) and (
                wrong := _wrong(self.path)
            ):
                raise NotAStore(self.name, f"data.mdb is damaged: {wrong}; {REMEDY}")

    def _check_there(self) -> None:
        try:
            there = os.stat(self.path / "data.mdb").st_ino == self._file
        except OSError:
            there = False
        if not there:
            raise StoreUnavailable(
                self.name, "its files were removed or replaced since it was opened: put them back"
            )


def _wrong(path: Path) -> str | None:
    """The first fault of the file, if it has one: reads all of it, and never maps it."""
    try:
        problems = verify(str(path))  # type: ignore[no-untyped-call]
    except VerifyError as error:
        return str(error)
    return problems[0] if problems else None


def _checksum(key: bytes, value: Data) -> int:
    return zlib.crc32(value, zlib.crc32(key))


def _record(key: bytes, value: Data) -> bytes:
    return b"".join((_CHECK.pack(_checksum(key, value)), value))


def _free(path: Path) -> int:
    room = os.statvfs(path)
    return room.f_bavail * room.f_frsize
