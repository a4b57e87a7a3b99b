"""The stateful processor: a call a shard and micro-batch, its windows in Spark's state store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from sash.engine.live import LATE, Live, Stats
from sash.engine.pages import KEY, LIST, from_bytes, to_bytes
from sash.engine.shard import Shard, Step
from sash.spark.local_pages import LocalPages, NoPages

STATE = "windows"
"""The state variable: pages by name."""

OUTPUT = "rows binary, " + ", ".join(f"{name} long" for name in Stats._fields)


class StatePages:
    """A shard's pages in Spark's state store, with copies of them near."""

    def __init__(self, state: Any, near: LocalPages | NoPages) -> None:
        self._state, self._near = state, near

    def get(self, name: str) -> Any:
        found = None if name == LIST else self._near.get(name)
        if found is not None:
            return found
        row = self._state.getValue((name,))
        if row is None:
            return None
        if name != LIST:
            self._near.put(name, row[0])
        return row[0]

    def put(self, name: str, data: Any) -> None:
        self._state.updateValue((name,), (bytes(data),))
        if name != LIST:
            self._near.put(name, data)

    def delete(self, name: str) -> None:
        self._state.removeKey((name,))
        self._near.delete(name)


class Processor(StatefulProcessor):
    """Runs shards; `ticks` are steps of the time column a millisecond, None without a watermark."""

    def __init__(self, live: Live, names: tuple[str, ...], options: dict[str, Any]) -> None:
        self._live = live
        columns = [live.schema.field(name) for name in names]
        self._schema = pa.schema([pa.field(KEY, pa.int64()), *columns])
        self._ticks: int | None = options["ticks"]
        self._late, self._cache = options["late"], options["cache"]

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getMapState(STATE, "name string", "page binary")
        self._near = LocalPages() if self._cache else NoPages()

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        """A micro-batch's blocks of a shard."""
        blocks = [from_bytes(b) for part in rows for b in part["rows"] if b]
        table = pa.concat_tables(blocks).cast(self._schema) if blocks else self._nothing()
        yield self._step(table, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[pd.DataFrame]:
        """The watermark has moved, and no rows have come."""
        yield self._step(self._nothing(), timerValues)

    def close(self) -> None:
        """A task ends: a good time to look after local files."""
        self._near.tidy()

    def _nothing(self) -> pa.Table:
        return pa.schema([pa.field(KEY, pa.int64()), *self._live.schema]).empty_table()

    def _step(self, rows: pa.Table, timers: Any) -> pd.DataFrame:
        shard = Shard(self._live, StatePages(self._state, self._near))
        watermark = None
        if self._ticks is not None:
            passed = timers.getCurrentWatermarkInMs()
            self._wake(passed)
            watermark = passed * self._ticks if passed > 0 else None
        step = shard.step(rows, watermark)
        return pd.DataFrame({"rows": [self._block(step)], **step.stats._asdict()})

    def _wake(self, passed: int) -> None:
        """Have the shard called again when the watermark moves on, rows or not."""
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        self._handle.registerTimer(max(0, passed) + 1)

    def _block(self, step: Step) -> bytes:
        rows = step.rows
        if self._late == "side":
            marked = self._live.marked(step.late)
            flags = [False] * rows.num_rows + [True] * marked.num_rows
            rows = pa.concat_tables([rows, marked]).append_column(LATE, pa.array(flags, pa.bool_()))
        return bytes(to_bytes(rows)) if rows.num_rows else b""
