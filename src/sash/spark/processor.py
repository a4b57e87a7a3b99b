"""The stateful processor: a call per shard and micro-batch, its windows in Spark's state store.

Spark starts a Python process on the driver when a query starts, which imports this module: so
nothing that is heavy is imported before rows are there.
"""

from __future__ import annotations

import functools
import pickle
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from sash.engine.stream.definition import StreamDefinition
    from sash.engine.stream.pages import Page
    from sash.engine.stream.shard import Step
    from sash.engine.stream.work import Work
    from sash.spark.local_pages import LocalPages, NoPages

STATE = "windows"
"""The state variable: pages by name."""

LARGEST = 1 << 28
"""Bytes of a block of rows that come out, about: a cell has less than 2^31."""


class StatePages:
    """A shard's pages in Spark's state store, with copies of them near."""

    def __init__(self, state: Any, near: LocalPages | NoPages) -> None:
        self._state, self._near = state, near

    def manifest(self, name: str) -> Any:
        """The manifest's bytes, or None."""
        row = self._state.getValue((name,))
        return None if row is None else row[0]

    def put_manifest(self, name: str, data: bytes) -> None:
        self._state.updateValue((name,), (data,))

    def get(self, page: Page) -> pa.Table:
        from sash.engine.stream.pages import StateError, fits, from_bytes

        near = self._near.get(page.name)
        if near is not None and fits(page, near):
            return from_bytes(near)
        row = self._state.getValue((page.name,))
        if row is None or not fits(page, row[0]):
            what = "missing from" if row is None else "damaged in"
            raise StateError(
                f"page {page.name} is {what} Spark's state store: go back to a copy of the "
                "checkpoint, or start from a new one"
            )
        self._near.put(page.name, row[0])
        return from_bytes(row[0])

    def put(self, name: str, table: pa.Table) -> Page:
        from sash.engine.stream.pages import Page, to_bytes
        from sash.spark.shards import CODEC

        data = to_bytes(table, CODEC)
        self._state.updateValue((name,), (bytes(data),))
        self._near.put(name, data)
        return Page(name, table.num_rows, data.size, zlib.crc32(data))

    def delete(self, page: Page) -> None:
        self._state.removeKey((page.name,))
        self._near.delete(page.name)


class Processor(StatefulProcessor):
    """Runs shards; `ticks`: steps of the time column per millisecond, None without a watermark."""

    def __init__(
        self, definition: StreamDefinition, names: tuple[str, ...], options: dict[str, Any]
    ) -> None:
        self._pickled = pickled(definition)
        self._ticks: int | None = options["ticks"]
        self._late, self._cache = options["late"], options["cache"]
        self._cut: float | None = options["cut"]
        self._names = names

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getMapState(STATE, "name string", "page binary")
        self._ready = False

    def _prepare(self) -> None:
        """The shard, made when the first rows are there."""
        from sash.spark.local_pages import LocalPages, NoPages
        from sash.spark.marks import marks_of

        if self._ready:
            return
        self._near = LocalPages() if self._cache else NoPages()
        self._marks = marks_of(self._pickled, self._cache)
        self._work = work_of(self._pickled)
        self._definition = self._work.definition
        self._schema = rows_schema(self._definition, self._names)
        self._ready = True

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Some of the pages that a shard begins with."""
        for name, page in zip(initialState["name"], initialState["page"], strict=True):
            self._state.updateValue((name,), (bytes(page),))

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        """A micro-batch's blocks of a shard."""
        import pyarrow as pa

        from sash.engine.stream.pages import from_bytes
        from sash.spark.shards import is_sliced

        self._prepare()
        blocks = [from_bytes(b) for part in rows for b in part["rows"] if b]
        slices = [block for block in blocks if is_sliced(block)]
        blocks = [block for block in blocks if not is_sliced(block)]
        table = pa.concat_tables(blocks).cast(self._schema) if blocks else self._nothing()
        yield self._step(table, timerValues, slices)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[pd.DataFrame]:
        """The watermark has moved, and no rows have come."""
        self._prepare()
        yield self._step(self._nothing(), timerValues)

    def close(self) -> None:
        """A task ends: a good time to look after local files."""
        if getattr(self, "_ready", False):
            self._near.tidy()

    def _nothing(self) -> pa.Table:
        return self._schema.empty_table()

    def _step(self, rows: pa.Table, timers: Any, slices: Sequence[pa.Table] = ()) -> pd.DataFrame:
        import pandas as pd

        from sash.engine.stream.manifest import NAME, Manifest
        from sash.engine.stream.shard import Shard
        from sash.spark.shards import sliced_after

        pages = StatePages(self._state, self._near)
        known = pages.manifest(NAME)
        shard = Shard(self._work, pages, None if known is None else Manifest.load(known))
        if known is None and self._cut is not None:
            shard.load(self._nothing(), self._cut)
        watermark = None
        if self._ticks is not None:
            passed = timers.getCurrentWatermarkInMs()
            self._wake(passed)
            watermark = passed * self._ticks if passed > 0 else None
        before = shard.manifest.watermark
        step = shard.step(rows, watermark, sliced_after(slices, before))
        if self._definition.slices_at_once:
            self._marks.keep(shard.manifest.watermark)
        if step.stats.rows_in or shard.manifest.watermark != before or known is None:
            pages.put_manifest(NAME, shard.manifest.dump())
        # A data frame's column takes Spark a millisecond, so the figures are one, and of one row.
        blocks, figures = self._blocks(step), list(shard.measured(step.stats))
        return pd.DataFrame({"rows": blocks, "figures": [figures] + [None] * (len(blocks) - 1)})

    def _wake(self, passed: int) -> None:
        """Have the shard called again when the watermark moves on, rows or not."""
        wanted, known = max(0, passed) + 1, list(self._handle.listTimers())
        for timer in known:
            if timer != wanted:
                self._handle.deleteTimer(timer)
        if wanted not in known:
            self._handle.registerTimer(wanted)

    def _blocks(self, step: Step) -> list[bytes]:
        import pyarrow as pa

        from sash.engine.stream.definition import LATE
        from sash.engine.stream.pages import to_bytes
        from sash.spark.shards import CODEC

        rows = step.rows
        if self._late == "side":
            marked = self._definition.marked(step.late)
            flags = [False] * rows.num_rows + [True] * marked.num_rows
            rows = pa.concat_tables([rows, marked]).append_column(LATE, pa.array(flags, pa.bool_()))
        if not rows.num_rows:
            return [b""]
        count = -(-rows.num_rows // (rows.nbytes // LARGEST + 1))
        parts = (rows.slice(first, count) for first in range(0, rows.num_rows, count))
        return [bytes(to_bytes(part, CODEC)) for part in parts]


@functools.lru_cache(maxsize=16)
def work_of(definition: bytes) -> Work:
    """The windows of a definition, made once in a worker: Spark keeps it from batch to batch, and
    what is compiled stays at hand."""
    from sash.engine.stream.work import Work

    return Work(pickle.loads(definition))


def pickled(definition: StreamDefinition) -> bytes:
    """A definition as bytes, with the functions that it has."""
    from pyspark import cloudpickle

    found: bytes = cloudpickle.dumps(definition)  # type: ignore[no-untyped-call]
    return found


def rows_schema(definition: StreamDefinition, names: tuple[str, ...]) -> pa.Schema:
    """The columns of a shard's rows: the numbers of keys, and those of the stream."""
    import pyarrow as pa

    from sash.engine.stream.pages import CHECK, KEY

    columns = [definition.schema.field(name) for name in names]
    return pa.schema([*(pa.field(name, pa.int64()) for name in (KEY, CHECK)), *columns])
