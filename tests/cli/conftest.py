"""One Spark, and a small pipeline that works, to be broken in one place at a time."""

import signal
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import sash.spark
from sash.cli.on_spark import SETTINGS

SASH = [sys.executable, "-c", "import sys; from sash.cli import main; sys.exit(main())"]

GOOD = """\
time = "ts"
keys = ["user"]
watermark = "1 hour"

[source]
format = "parquet"
path = "rows.parquet"

[windows]
day = "24 hours"

[aggregations]
n = { function = "count", over = "1 hour" }
hi = { function = "max", of = "amount", over = "day" }
who = { function = "argmax", of = ["amount", "shop"], over = "7 days" }
fifty = { function = "mean", of = "amount", over = { rows = 50 } }
mine = { function = "own_monoids:spread", of = "amount", over = "day" }

[sink]
format = "parquet"
path = "out"

[spark]
master = "local[2]"
"spark.sql.shuffle.partitions" = 2
"""

MONOIDS = """\
from sash import Monoid


def both(x):
    return x, x


def wider(a, b):
    return min(a[0], b[0]), max(a[1], b[1])


def length(v):
    return v[1] - v[0]


spread = Monoid("spread", (float("inf"), float("-inf")), both, wider, length)
number = 3
"""


def rows(n: int = 300) -> pa.Table:
    start = datetime(2024, 1, 1)
    times = [start + timedelta(minutes=7 * i) for i in range(n)]
    return pa.table(
        {
            "user": [i % 3 for i in range(n)],
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "amount": [float(i * 37 % 101) for i in range(n)],
            "shop": [f"s{i % 5}" for i in range(n)],
        }
    )  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Ctrl+C reaches commands that tests start, also where a shell runs the tests in the
    background: it has them ignore the signal, and processes inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with rows, a monoid and a pipeline file that works."""
    parquet.write_table(rows(), tmp_path / "rows.parquet")
    csv.write_csv(rows(), tmp_path / "rows.csv")
    (tmp_path / "own_monoids.py").write_text(MONOIDS)
    (tmp_path / "good.toml").write_text(GOOD)
    return tmp_path


@pytest.fixture
def changed(home: Path) -> Callable[..., Path]:
    """The pipeline file with some of its text changed."""

    def change(*pairs: tuple[str, str]) -> Path:
        text = GOOD
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new, 1)
        file = home / "changed.toml"
        file.write_text(text)
        return file

    return change


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    settings = SETTINGS | {"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC"}
    session = sash.spark.session("tests", "local[2]", **settings)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
