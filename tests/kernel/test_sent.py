"""Kernels that another process has sent: taken where they are whole, compiled where not."""

from __future__ import annotations

import pickle
import warnings
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark import cloudpickle

import sash
from sash import Monoid
from sash import functions as sf
from sash.engine.ahead import kernels_of
from sash.kernel import cache, compiled, sent
from sash.plan.planner import plan_of
from sash.spark.partition import Work, over

TABLE = pa.table({"k": [1] * 7, "t": np.arange(7), "x": np.arange(7.0), "s": list("abcdefg")})


def affine(name: str) -> Monoid:
    """y -> 2 y + x for each item x, one after the other; `name` makes its kernel a new one."""
    return Monoid(
        name, (1.0, 0.0), lambda x: (2.0, x),
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), lambda v: v[1],
    )  # fmt: skip


def worker(
    work: Work, monkeypatch: pytest.MonkeyPatch, directory: Path
) -> tuple[set[str], list[str]]:
    """Run the work as a new process with an empty cache does: which kernels of windows it
    compiled, and what it warned of."""
    monkeypatch.setattr(compiled, "_kernels", {})
    monkeypatch.setattr(cache, "_warned", False)
    monkeypatch.setattr(sent, "_received", {})
    monkeypatch.setenv("SASH_CACHE_DIR", str(directory))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        there = pickle.loads(cloudpickle.dumps(work))
        found = pa.Table.from_batches(over(there, TABLE.to_batches())).column("y").to_pylist()
    monoid, lifted = affine("here"), [(2.0, float(x)) for x in range(7)]
    windows = [lifted[max(0, i - 4) : i + 1] for i in range(7)]
    assert found == [monoid.lower(reduce(monoid.combine, window)) for window in windows]
    made = {each.stem for each in directory.glob("kernels/follow_*.kernel")}
    return made, [str(w.message) for w in seen]


def test_workers_take_kernels_that_are_whole_and_compile_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = sf.apply(affine(f"affine for {tmp_path}"), "x").over(sash.rows(5))
    query = sash.windowed(TABLE, "k", time="t").query(y=asked)
    plan = plan_of(query, TABLE.schema)
    kernels = kernels_of(plan)
    work = Work(plan, tuple(TABLE.column_names), {"y": pa.float64()}, kernels=kernels)
    follow = {name for name in kernels if name.startswith("follow_")}
    assert len(follow) == 1
    assert worker(work, monkeypatch, tmp_path / "whole") == (set(), [])
    kernels.update({name: kernels[name][:-1] + b"!" for name in follow})
    made, said = worker(work, monkeypatch, tmp_path / "damaged")
    assert made == follow
    assert "is damaged; compiling instead" in said[0]


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us", "UTC"), pa.float64()])
def test_kernels_are_found_without_values(kind: pa.DataType) -> None:
    """`lift` would raise, and the frame that looks at values too."""
    schema = pa.schema({"t": kind, "x": pa.int64(), "ok": pa.bool_()})
    own = sf.apply(Monoid("inverses", 0.0, lambda x: 1 / x, lambda a, b: a + b), "x")
    content = own.over(sash.until(lambda x: x > 3, "x"))
    call = sash.windowed(schema.empty_table(), time="t")
    some = kernels_of(plan_of(call.query(y=own.where("ok").over(sash.rows(9))), schema))
    assert [name for name in some if name.startswith("follow_")]
    assert kernels_of(plan_of(call.query(y=content), schema)) == {}


def test_queries_without_compiled_monoids_of_ones_own_send_nothing() -> None:
    words = sf.apply(Monoid("words", "", str, lambda a, b: a + b), "s", returns=pa.string())
    asked = {"hi": sf.max("x").over(sash.rows(3)), "words": words.over(sash.rows(2))}
    query = sash.windowed(TABLE, "k", time="t").query(**asked)
    assert kernels_of(plan_of(query, TABLE.schema)) == {}
