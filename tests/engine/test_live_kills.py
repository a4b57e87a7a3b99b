"""A stream in process is killed between and within its commits, over the stores that outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import stores
from tests.engine import live_driver
from tests.engine.streams import same


@pytest.fixture(params=["lmdb", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that no one else uses."""
    if request.param == "lmdb":
        return f"lmdb:{tmp_path}/state"
    address: str = request.getfixturevalue("server").url.removesuffix("/0") + "/7"
    with stores.open(address) as store:
        store._client.flushdb()
    return address


def run(url: str, emit: str, commits: int | None) -> int:
    """Run the driver; kill it after so many commits, in the middle of what it does then."""
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(Path(sash.__file__).parents[1])])
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.live_driver", url, emit],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert process.stdout is not None
    seen = 0
    while (commits is None or seen < commits) and process.stdout.readline():
        seen += 1
    if commits is not None:
        process.send_signal(signal.SIGKILL)
    process.stdout.close()
    return process.wait()


def killed(url: str, emit: str, rng: np.random.Generator, kills: int) -> None:
    """Kill a stream so many times, then let it end, and compare with one that was never killed."""
    for _ in range(kills):
        assert run(url, emit, int(rng.integers(1, 4))) == -signal.SIGKILL
    assert run(url, emit, None) == 0
    with stores.open(url) as store:
        after = live_driver.live(store, emit)
        assert after.offset == live_driver.LAST
        whole = live_driver.live(None, emit)
        table = live_driver.table()
        for start in range(0, live_driver.LAST, live_driver.STEP):
            whole.feed(table.slice(start, live_driver.STEP))
        same(rest(after, table), rest(whole, table), [("i", "ascending")])


def rest(live: Any, table: pa.Table) -> pa.Table:
    """What the last rows of the table give, and all that is then due."""
    given = live.feed(table.slice(live_driver.LAST))
    return pa.concat_tables([given, live.advance(1 << 40)])


def test_a_killed_process(url: str) -> None:
    killed(url, "final", np.random.default_rng(1), 1)


@pytest.mark.slow
@pytest.mark.parametrize("emit", ["final", "arrival"])
@pytest.mark.parametrize("seed", range(5))
def test_many_kills(url: str, emit: str, seed: int) -> None:
    killed(url, emit, np.random.default_rng(seed), 5)
