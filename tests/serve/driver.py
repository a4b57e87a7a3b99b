"""Run by test_serve.py in a process of its own: a stream and its sink, which may be killed.

    python -m tests.serve.driver ROWS STATE SERVED

It goes on where the last one was killed: a batch that was fed and not committed is fed again.
"""

from __future__ import annotations

import sys
from typing import Any

import pyarrow.parquet as pq

import sash
from sash import functions as sf
from sash import serve, stores

SIZE = 40


def features() -> dict[str, Any]:
    frame = sash.range_between(-15, 0)
    return {
        "n": sf.count().over(frame),
        "list": sf.collect_list("i").over(frame),
        "hi": sf.max("x").over(sash.rows(3)),
        "visit": sf.sum("i").over(sash.session(4)),
    }


def main(rows: str, state: str, served: str) -> None:
    table = pq.read_table(rows)
    with stores.open(state) as store:
        live = sash.stream("k", time="t", delay=3, emit="update", store=store).agg(**features())
        sink = serve.Sink(served)
        number = live.offset or 0
        while number * SIZE < table.num_rows:
            sink(live.feed(table.slice(number * SIZE, SIZE)), number)
            number += 1
            live.commit(number)
            print(number, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
