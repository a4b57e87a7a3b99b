"""`sash warm`: compile ahead of the first call what the built-in aggregations need.

What that is, is found by running them: small tables with columns of the usual types, keys and
nulls, under frames of each kind. So the list does not name kernels, and stays true when the
engine changes. `sash warm` fills the user's cache, for the processor that it runs on;
`sash warm --shipped` fills the package itself, for any processor of the last ten years.
"""

from __future__ import annotations

import itertools
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from sash import functions as sf
from sash.cli.errors import FAILED, EndError
from sash.kernel import cache
from sash.plan import texts
from sash.plan.aggregation import Aggregation

ROWS = 300
NUMBERS = (pa.int64(), pa.float64(), pa.int32(), pa.float32())
BY_TIME, BY_ROWS, FEW_ROWS = "10 seconds", sash.rows(100), sash.rows(3)

# Processors for which shipped code is made: x86-64-v3 is every one since about 2015.
PORTABLE = {
    "x86_64": "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,"
    "+lzcnt,+movbe,+xsave",
    "aarch64": "",
    "arm64": "",
}


def warm(shipped: bool) -> int:
    """Compile in as many processes as there are cores; how many kernels there are then."""
    if shipped:
        return _ship()
    _run(os.environ)
    return len(list(cache.cache_dir().glob("*.kernel")))


def _ship() -> int:
    """Compile into an empty cache, for any usual processor, and put the result into the package."""
    features = PORTABLE.get(platform.machine())
    portable = {} if features is None else {"NUMBA_CPU_NAME": "generic"}
    if features is not None:
        portable["NUMBA_CPU_FEATURES"] = features
    try:
        cache.SHIPPED.mkdir(exist_ok=True)
        for old in cache.SHIPPED.glob("*.kernel"):
            old.unlink()
        with tempfile.TemporaryDirectory() as folder:
            _run({**os.environ, **portable, "SASH_CACHE_DIR": folder})
            made = list(Path(folder, "kernels").glob("*.kernel"))
            for file in made:
                name = file.stem.rpartition("_")[0]  # without the processor: the notes have it
                (cache.SHIPPED / f"{name}.kernel").write_bytes(file.read_bytes())
    except OSError as problem:
        raise EndError(f"warm --shipped: {problem}", FAILED) from None
    return len(made)


def _run(environment: Any) -> None:
    """Run all calls, in processes that share a cache."""
    count = os.cpu_count() or 1
    commands = [[sys.executable, "-m", "sash.cli.warm", str(i), str(count)] for i in range(count)]
    running = [subprocess.Popen(c, env=environment, stderr=subprocess.PIPE) for c in commands]
    for process in running:
        _, errors = process.communicate()
        if process.returncode:
            last = errors.decode(errors="replace").strip().rpartition("\n")[2]
            raise EndError(f"warm: {last}", FAILED)


def calls() -> Iterator[tuple[Any, dict[str, Aggregation]]]:
    """The calls: windows over a table, and the aggregations of one call."""
    for kind in NUMBERS:
        for frame in (BY_TIME, BY_ROWS, FEW_ROWS):
            for asked in _of_numbers(kind):
                yield _windows(kind), {name: a.over(frame) for name, a in asked.items()}
        in_order = _windows(kind, in_order=True)  # so that a condition goes with the times
        for asked in _usual():
            yield in_order, {n: a.where("ok").over(BY_TIME) for n, a in asked.items()}
        for asked in _of_numbers(kind):
            yield _windows(kind).every(BY_TIME), {n: a.over(BY_TIME) for n, a in asked.items()}
    for kind in (pa.bool_(), pa.timestamp("us"), pa.string(), pa.decimal128(18, 2)):
        for frame in (BY_TIME, BY_ROWS):
            yield _windows(kind), {name: a.over(frame) for name, a in _of_any(kind).items()}
    frames = (sash.session("10 seconds"), sash.sliding("10 seconds", "5 seconds"),
              sash.tumbling("10 seconds"), sash.lifetime(), sash.rows_between(-5, 5))  # fmt: skip
    for one in frames:
        yield _windows(pa.float64()), {"count": sf.count().over(one)}
    for time, by_number in (
        ("i", sash.range_between(-10, 0)),
        ("f", sash.range_between(-10.0, 0.0)),
    ):
        windows = _windows(pa.float64(), time)
        yield windows, {"count": sf.count().over(by_number)}
        yield windows.at(windows.table(["k", time])), {"count": sf.count().over(by_number)}
    for kind, key, in_order, nulls in itertools.product(
        NUMBERS, (None, "k", "s", "d"), (True, False), (True, False)
    ):
        usual = next(_usual())
        windows = _windows(kind, key=key, in_order=in_order, nulls=nulls)
        yield windows, {name: a.over(BY_TIME) for name, a in usual.items()}


def _usual() -> Iterator[dict[str, Aggregation]]:
    usual = {"count": sf.count("x"), "sum": sf.sum("x"), "mean": sf.mean("x"), "min": sf.min("x"),
             "max": sf.max("x"), "stddev": sf.stddev("x")}  # fmt: skip
    yield usual
    for some in (("sum", "mean", "min", "max"), ("mean", "stddev")):  # states in one loop
        yield {name: usual[name] for name in some}
    for name, aggregation in usual.items():
        yield {name: aggregation}


def _of_numbers(kind: pa.DataType) -> Iterator[dict[str, Aggregation]]:
    yield from _usual()
    if pa.types.is_int64(kind) or pa.types.is_float64(kind):
        variance = sf.variance("x")
        yield {"variance": variance}
        yield {"variance": variance, "stddev": sf.stddev("x")}
        yield {"best": sf.argmax("x", "s"), "worst": sf.argmin("x", "s"), **_of_any(kind)}
        yield {"median": sf.median("x"), "range": sf.range("x"), "product": sf.product("x")}


def _of_any(kind: pa.DataType) -> dict[str, Aggregation]:
    found = {"first": sf.first("x"), "last": sf.last("x"), "distinct": sf.count_distinct("x")}
    if pa.types.is_boolean(kind):
        found.update(all=sf.bool_and("x"), any=sf.bool_or("x"))
    if pa.types.is_timestamp(kind) or pa.types.is_decimal(kind):
        found.update(min=sf.min("x"), max=sf.max("x"))
    if pa.types.is_decimal(kind):
        found.update(sum=sf.sum("x"))
    return found


def _windows(
    kind: pa.DataType,
    time: str = "t",
    key: str | None = "k",
    in_order: bool = False,
    nulls: bool = True,
) -> Any:
    """Windows over a small table, with keys or without, its rows in order of time or not."""
    i = np.arange(ROWS) if in_order else np.random.default_rng(0).permutation(ROWS)
    x = pa.array([None if nulls and v % 5 == 0 else int(v % 7) for v in i], pa.int32())
    x = x.cast(pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else x.cast(kind)
    names = pa.array([str(v % 3) for v in i])
    times = pa.array(i * 1_000_000).cast(pa.timestamp("us"))
    columns = {"k": i % 3, "s": names, "d": names.dictionary_encode(), "i": i, "f": i * 1.0,
               "t": times, "x": x, "ok": i % 2 == 0}  # fmt: skip
    return sash.windowed(pa.table(columns), by=[] if key is None else [key], time=time)


def main(part: int, parts: int) -> None:
    """Run each call whose number is `part` modulo `parts`."""
    for i, (windows, asked) in enumerate(calls()):
        if i % parts == part:
            windows.agg(**asked)
    if part == 0:
        for kind in (pa.string(), pa.large_string()):
            texts.are(pa.array(["a"] * texts.WORTH_A_KERNEL, kind), "a")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
