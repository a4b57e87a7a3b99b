"""A stream leaves the console quiet: nothing on standard output, and of Sash nothing on errors."""

import subprocess
import sys
from pathlib import Path

import pytest

STREAM = """
import sys, sash, pyarrow as pa, pyarrow.parquet as pq, datetime as dt
from sash import functions as sf
folder = sys.argv[1]
times = pa.array([dt.datetime(2024, 1, 1, 0, i) for i in range(9)], pa.timestamp("us", "UTC"))
pq.write_table(pa.table({"k": [1] * 9, "t": times}), folder + "/in/0.parquet")
spark = sash.spark.session(master="local[2]", **{"spark.sql.shuffle.partitions": 2})
rows = spark.readStream.schema("k long, t timestamp").parquet(folder + "/in")
out = sash.windowed(rows.withWatermark("t", "1 minute"), "k", time="t")
out = out.agg(n=sf.count().over("5 minutes"))
sink = out.writeStream.format("parquet").option("path", folder + "/out")
sink = sink.option("checkpointLocation", folder + "/checkpoint").trigger(availableNow=True)
sink.start().awaitTermination()
assert spark.read.parquet(folder + "/out").count() > 0
spark.stop()
"""


@pytest.mark.slow
def test_a_stream_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", STREAM, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "incubator modules" not in line]
    assert (done.stdout, said) == ("", [])
