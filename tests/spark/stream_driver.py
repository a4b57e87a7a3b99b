"""Run by test_stream_kills.py in a process of its own: a stream that may be killed at any time.

    python -m tests.spark.stream_driver FOLDER [--seed SEED] [--serve URL]

With a seed it also kills its own Python workers, at random times. With a URL it keeps the current
values of keys in that store, and writes no files.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import sash
import sash.spark
from sash import functions as sf
from tests.spark import streams

FAST = {  # to be up soon matters more here than to be fast
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "700m",
    "spark.sql.shuffle.partitions": 2,
    "spark.sql.session.timeZone": "UTC",
}


def features() -> dict[str, Any]:
    return {
        "n": sf.count().over("20 seconds"),
        "a": sf.apply(streams.AFFINE, "v").over("40 seconds"),
        "last4": sf.collect_list("i").over(sash.rows(4)),
        "visit": sf.apply(streams.AFFINE, "v").over(sash.session("3 seconds")),
    }


def define(data: Any, **options: Any) -> Any:
    return sash.windowed(data, "k", time="ts", **options).agg(**features())


def main(base: Path, seed: int | None, url: str | None) -> None:
    spark = sash.spark.session("killed", "local[2,20]", **FAST)
    if seed is not None:
        threading.Thread(target=kill_workers, args=(random.Random(seed),), daemon=True).start()
    print("started", flush=True)
    source = streams.source(spark, base / "in")
    if url is None:
        streams.run(define(source, late="side", shards=2), base)
    else:
        streams.serve(define(source, emit="update", shards=2), base, url)
    print("done", flush=True)


def kill_workers(chance: random.Random) -> None:
    """Kill the worker that is at work, again and again."""
    while True:
        time.sleep(chance.uniform(0.5, 5))
        before = work_of(workers())
        time.sleep(0.05)
        after = work_of(before)
        busy = [pid for pid in after if after[pid] > before[pid]]
        if busy:
            pid = chance.choice(busy)
            os.kill(pid, signal.SIGKILL)
            print("killed worker", pid, flush=True)


def workers() -> list[int]:
    """The Python workers of this process: forked by a daemon that this one's Java started."""
    parents: dict[int, int] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and (fields := status(int(each.name))):
            parents[int(each.name)] = int(fields[1])
    children = {pid for pid, parent in parents.items() if parent == os.getpid()}
    daemons = {pid for pid, parent in parents.items() if parent in children}
    return [pid for pid, parent in parents.items() if parent in daemons]


def work_of(pids: Any) -> dict[int, int]:
    """The ticks that processes have computed for."""
    found = {pid: status(pid) for pid in pids}
    return {pid: int(fields[11]) + int(fields[12]) for pid, fields in found.items() if fields}


def status(pid: int) -> list[str]:
    """The fields of a process after its name; none if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--serve")
    given = parser.parse_args()
    main(given.folder, given.seed, given.serve)
