"""Keys that share a number, all in one batch: each is told from the others, whatever is kept."""

from __future__ import annotations

import numpy as np
import pytest

from sash import functions as sf
from sash.engine.table import aggregate
from tests.engine.streams import FRAMES, Run, defined, rows, same, without


@pytest.mark.parametrize("name", ["lifetime", "session", "rows", "until", "time"])
@pytest.mark.parametrize("batch", [7, 60])
def test_one_frame_alone(name: str, batch: int) -> None:
    table = rows(np.random.default_rng(3), 60, 5, 0)
    definition = defined(list=sf.collect_list("i").over(FRAMES[name]))
    run = Run(definition, collide=1)
    found = run.all(table, [batch] * (60 // batch) + [60 % batch], delay=0)
    same(found, aggregate(definition.plan.query, without(table, run.late)), [("i", "ascending")])
