"""Keys that share a number, all in one batch: each is told from the others, whatever is kept."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from tests.engine.streams import FRAMES, SCHEMA, Run, aggregate, defined, rows, same, without


@pytest.mark.parametrize("name", ["lifetime", "session", "rows", "until", "time"])
@pytest.mark.parametrize("batch", [7, 60])
def test_one_frame_alone(name: str, batch: int) -> None:
    table = rows(np.random.default_rng(3), 60, 5, 0)
    definition = defined(list=sf.collect_list("i").over(FRAMES[name]))
    run = Run(definition, collide=1)
    found = run.all(table, [batch] * (60 // batch) + [60 % batch], delay=0)
    same(found, aggregate(definition.plan.query, without(table, run.late)), [("i", "ascending")])


def test_a_key_known_by_late_rows_keeps_its_number() -> None:
    """A key whose only rows came late meets a new key of its number in one batch."""
    definition = defined("arrival", list=sf.collect_list("i").over(sash.range_between(-20, 0)))
    run = Run(definition, collide=1)

    def batch(*rows: tuple[str, int, int]) -> pa.Table:
        named = [{"k": k, "t": t, "i": i, "x": 0.0, "s": ""} for k, t, i in rows]
        return pa.Table.from_pylist(named, SCHEMA)

    run.step(batch(("a", 9, 0)), None)
    run.step(batch(("b", 3, 1)), None)
    found = run.step(batch(("c", 2, 2), ("b", 5, 3), ("c", 6, 4)), None)
    lists = {row["i"]: row["list"] for row in found.to_pylist()}
    assert lists == {2: [2], 3: [1, 3], 4: [2, 4]}
